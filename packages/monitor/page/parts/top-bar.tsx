/** On every page: where one is, the worst alert, how many locks are held, waited for and lost, and how old that is. */
import type { JSX } from 'preact';
import type { AlertView } from '../../src/api/types.ts';
import { now } from '../data/clock.ts';
import { asApiError, post } from '../data/http.ts';
import { isHelpOpen } from '../data/keys.ts';
import { PAGES, type PageName, pageLink, route } from '../data/route.ts';
import { alerts, notice, pausedAt, picture } from '../data/store.ts';
import { connect, link } from '../data/stream.ts';
import { cycleTheme, theme } from '../data/theme.ts';
import { count, duration, seconds, visible } from '../data/words.ts';
import { STALE_MS } from './banners.tsx';
import { LevelMark, Shape } from './marks.tsx';

const NAMES: Readonly<Record<PageName, string>> = {
  locks: 'Locks',
  jobs: 'Jobs',
  servers: 'Servers',
  alerts: 'Alerts',
  audit: 'Audit',
};

export function TopBar(): JSX.Element {
  const page = route.value.page === 'lock' ? 'locks' : route.value.page;
  const firing = alerts.value.filter(({ state }) => state === 'firing');
  return (
    <header class="top">
      <div class="top-line">
        <span class="brand">
          holdfast
          {picture.value !== null && picture.value.fleet !== '' && (
            <small>{visible(picture.value.fleet)}</small>
          )}
        </span>
        <nav aria-label="Pages">
          {PAGES.map((name) => (
            <a key={name} href={pageLink(name)} aria-current={name === page ? 'page' : undefined}>
              {NAMES[name]}
              {name === 'alerts' && firing.length > 0 && <Badge firing={firing} />}
            </a>
          ))}
        </nav>
        <Tools />
      </div>
      <WorstAlert firing={firing} />
      <Figures />
    </header>
  );
}

function Badge({ firing }: { readonly firing: readonly AlertView[] }): JSX.Element {
  const level = firing.some((alert) => alert.level === 'critical') ? 'critical' : 'warning';
  return (
    <span class={`badge level-${level}`}>
      {firing.length}
      <span class="unseen"> firing</span>
    </span>
  );
}

function WorstAlert({ firing }: { readonly firing: readonly AlertView[] }): JSX.Element | null {
  const worst = firing.find(({ level }) => level === 'critical') ?? firing[0];
  if (worst === undefined) return null;
  return (
    <a class={`worst level-${worst.level}`} href={pageLink('alerts')}>
      <LevelMark level={worst.level} />{' '}
      <span>
        {visible(worst.subject)}: {visible(worst.summary)}
        {firing.length > 1 && ` (+${firing.length - 1})`}
      </span>
    </a>
  );
}

function Figures(): JSX.Element | null {
  const totals = picture.value?.totals;
  if (totals === undefined) return null;
  return (
    <ul class="totals" aria-label="Totals">
      <li>
        <b>{count(totals.held)}</b> held
      </li>
      <li>
        <b>{count(totals.waiting)}</b> waiting
      </li>
      <li class={totals.late > 0 ? 'is-late' : undefined}>
        {totals.late > 0 && <Shape name="triangle" />} <b>{count(totals.late)}</b> late
      </li>
      <li
        class={totals.lost > 0 ? 'is-late' : undefined}
        title="Seen to expire or vanish while they were renewed, in the last 5 minutes"
      >
        {totals.lost > 0 && <Shape name="cross" />} <b>{count(totals.lost)}</b> lost/5 min
      </li>
      <li class="age">
        <Age lookedAt={totals.lookedAt} />
      </li>
    </ul>
  );
}

function Age({ lookedAt }: { readonly lookedAt: number | null }): JSX.Element {
  const ageMs = lookedAt === null ? null : now.value - lookedAt;
  const old = ageMs === null ? 'no look yet' : `${ageMs < STALE_MS ? duration(ageMs) : seconds(ageMs)} old`;
  if (pausedAt.value !== null) return <span class="link-state">{<Shape name="pause" />} paused</span>;
  if (link.value.state !== 'live')
    return (
      <span class="link-state is-late">
        {<Shape name="cross" />} disconnected, {old}
      </span>
    );
  const isOld = ageMs === null || ageMs > STALE_MS;
  return (
    <span class={isOld ? 'link-state is-late' : 'link-state is-live'}>
      <Shape name={isOld ? 'ring' : 'dot'} /> {isOld ? 'stale' : 'live'}, {old}
    </span>
  );
}

function Tools(): JSX.Element {
  const user = picture.value?.viewer.user ?? null;
  return (
    <div class="tools">
      {user !== null && (
        <button type="button" title="Log out" onClick={() => void logOut()}>
          {visible(user)} <span class="quiet">log out</span>
        </button>
      )}
      <button
        type="button"
        onClick={cycleTheme}
        aria-label={`Colours: ${theme.value}. Change`}
        title={`Colours: ${theme.value}`}
      >
        <Shape name="half" />
      </button>
      <button
        type="button"
        aria-label="Keys"
        title="Keys"
        onClick={() => {
          isHelpOpen.value = true;
        }}
      >
        ?
      </button>
    </div>
  );
}

async function logOut(): Promise<void> {
  try {
    await post('logout', {}, picture.value?.viewer.csrf ?? '');
    await connect();
  } catch (thrown) {
    notice.value = asApiError(thrown).message;
  }
}
