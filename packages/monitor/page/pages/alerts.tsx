/** Alerts: what is wrong, since when, why it matters, what to do, and whether anybody was told. Firing first. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { AlertPage, AlertView, SilenceView } from '../../src/api/types.ts';
import { now } from '../data/clock.ts';
import { alerts, picture } from '../data/store.ts';
import { clock, moment, visible } from '../data/words.ts';
import { Older, PagedState, usePaged } from '../parts/paged.tsx';
import { Skeleton } from '../parts/states.tsx';
import { AlertCard } from './alert-card.tsx';

const STATES = ['firing', 'pending', 'resolved'] as const;

export function AlertsPage(): JSX.Element {
  const past = useSignal<readonly AlertView[]>([]);
  const silences = useSignal<readonly SilenceView[]>([]);
  // What has ended is fetched; what is active comes by the stream, and each change of it may be an end.
  const paged = usePaged<AlertPage>('api/v1/alerts', alerts.value, (page, isOlder) => {
    past.value = isOlder ? [...past.value, ...page.past] : page.past;
    silences.value = page.silences;
  });

  const active = [...alerts.value].sort(
    (a, b) =>
      STATES.indexOf(a.state) - STATES.indexOf(b.state) || levelRank(a) - levelRank(b) || a.since - b.since,
  );
  return (
    <main class="page">
      <h1>
        Alerts <small>{alertTotals(active)}</small>
      </h1>
      {picture.value === null ? (
        <Skeleton />
      ) : (
        <>
          {active.length === 0 && <Calm hasRules={picture.value.limits !== null} />}
          {active.map((alert) => (
            <AlertCard key={alert.incident} alert={alert} />
          ))}
          <Silences silences={silences.value} />
          <PagedState of={paged} />
          <Past past={past.value} />
          <Older of={paged} />
        </>
      )}
    </main>
  );
}

function Calm({ hasRules }: { readonly hasRules: boolean }): JSX.Element {
  return hasRules ? (
    <p class="calm">Nothing is wrong by the rules.</p>
  ) : (
    <p class="calm">
      No rule is judged, and nobody is told of anything. Start the monitor with <code>--config</code> and a
      file of rules and receivers.
    </p>
  );
}

function levelRank({ level }: AlertView): number {
  return level === 'critical' ? 0 : 1;
}

function alertTotals(active: readonly AlertView[]): string {
  const parts = STATES.map(
    (state) => [active.filter((alert) => alert.state === state).length, state] as const,
  );
  return parts
    .filter(([length]) => length > 0)
    .map(([length, state]) => `${length} ${state}`)
    .join(', ');
}

function Silences({ silences }: { readonly silences: readonly SilenceView[] }): JSX.Element | null {
  if (silences.length === 0) return null;
  return (
    <section>
      <h2>Silences</h2>
      <ul class="plain">
        {silences.map(({ id, match, by, until, reason }) => (
          <li key={id}>
            <b>{visible(match.rule ?? match.subject ?? `alert ${(match.fingerprint ?? '').slice(0, 8)}…`)}</b>{' '}
            until {moment(until, now.value)} by {visible(by)}: {visible(reason)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Past({ past }: { readonly past: readonly AlertView[] }): JSX.Element | null {
  if (past.length === 0) return null;
  return (
    <section>
      <h2>Before</h2>
      <ul class="plain past">
        {past.map((alert) => (
          <li key={alert.incident}>
            <time>{moment(alert.firedAt ?? alert.since, now.value)}</time> {alert.level} <b>{alert.rule}</b>{' '}
            {visible(alert.subject)}: {visible(alert.summary)}
            {alert.resolvedAt !== null && <span class="quiet"> resolved {clock(alert.resolvedAt)}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}
