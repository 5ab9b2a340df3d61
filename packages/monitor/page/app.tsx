import type { JSX } from 'preact';
import { route } from './data/route.ts';
import { connect, link } from './data/stream.ts';
import { AlertsPage } from './pages/alerts.tsx';
import { AuditPage } from './pages/audit.tsx';
import { JobsPage } from './pages/jobs.tsx';
import { LockPage } from './pages/lock.tsx';
import { LocksPage } from './pages/locks.tsx';
import { LoginPage } from './pages/login.tsx';
import { ServersPage } from './pages/servers.tsx';
import { Banners } from './parts/banners.tsx';
import { Help } from './parts/help.tsx';
import { Failure } from './parts/states.tsx';
import { TopBar } from './parts/top-bar.tsx';

export function App(): JSX.Element {
  const { value } = link;
  if (value.state === 'refused') {
    if (value.error.code === 'login-needed') return <LoginPage />;
    return (
      <main class="page">
        <Failure error={value.error} onRetry={() => void connect()} />
      </main>
    );
  }
  return (
    <>
      <TopBar />
      <Banners />
      <CurrentPage />
      <Help />
    </>
  );
}

function CurrentPage(): JSX.Element {
  const { value } = route;
  if (value.page === 'lock') return <LockPage name={value.name} />;
  if (value.page === 'jobs') return <JobsPage />;
  if (value.page === 'servers') return <ServersPage />;
  if (value.page === 'alerts') return <AlertsPage />;
  if (value.page === 'audit') return <AuditPage />;
  return <LocksPage />;
}
