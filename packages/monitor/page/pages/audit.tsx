/** Audit: when, who, did what, why, with which result. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { AuditEntry, AuditPage as Page } from '../../src/api/types.ts';
import { now } from '../data/clock.ts';
import { lockLink } from '../data/route.ts';
import { notice } from '../data/store.ts';
import { moment, visible } from '../data/words.ts';
import { Older, PagedState, usePaged } from '../parts/paged.tsx';
import { Empty, Skeleton } from '../parts/states.tsx';

const VERBS: Readonly<Record<AuditEntry['action'], string>> = {
  release: 'took away',
  silence: 'silenced',
  ack: 'acknowledged',
  reload: 'reloaded',
};

export function AuditPage(): JSX.Element {
  const entries = useSignal<readonly AuditEntry[] | null>(null);
  // A notice says that somebody has done something: it is in the trail.
  const paged = usePaged<Page>('api/v1/audit', notice.value, (page, isOlder) => {
    entries.value = isOlder ? [...(entries.value ?? []), ...page.entries] : page.entries;
  });

  return (
    <main class="page">
      <h1>
        Audit <small>actions by page and command line, written before they are done</small>
      </h1>
      <PagedState of={paged} />
      {paged.error.value !== null ? null : entries.value === null ? (
        <Skeleton />
      ) : entries.value.length === 0 ? (
        <Empty title="Nobody has taken a lock away">
          <p>Each action would be here: who did it, when, and why.</p>
        </Empty>
      ) : (
        <Trail entries={entries.value} />
      )}
      <Older of={paged} />
    </main>
  );
}

function Trail({ entries }: { readonly entries: readonly AuditEntry[] }): JSX.Element {
  return (
    <table class="trail">
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Who</th>
          <th scope="col">Did what</th>
          <th scope="col">Why</th>
          <th scope="col">Result</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr key={entry.id} tabIndex={-1} data-item>
            <td>
              <time>{moment(entry.askedAt, now.value)}</time>
            </td>
            <td>
              <b>{visible(entry.by)}</b>{' '}
              <span class="quiet">
                {entry.via} on {visible(entry.host)}
                {entry.address !== null && `, ${visible(entry.address)}`}
              </span>
            </td>
            <td>
              {VERBS[entry.action]}{' '}
              {entry.action === 'release' ? (
                <a href={lockLink(entry.subject)}>{visible(entry.subject)}</a>
              ) : (
                visible(entry.subject)
              )}
              {entry.holder !== null && <span class="quiet"> from {visible(entry.holder)}</span>}
            </td>
            <td>{visible(entry.reason)}</td>
            <td>
              {entry.result === null ? (
                <span class="is-late">asked; its end is not known</span>
              ) : (
                visible(entry.result)
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
