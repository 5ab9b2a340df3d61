/** One lock: whose fault, who is next, what if I take it? */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { LockDetail, Row } from '../../src/api/types.ts';
import { now } from '../data/clock.ts';
import type { ApiError } from '../data/http.ts';
import { poll } from '../data/polling.ts';
import { picture, rowOf, rowsVersion } from '../data/store.ts';
import { ownerWords, seconds, visible } from '../data/words.ts';
import { isStale } from '../parts/banners.tsx';
import { Failure, Skeleton } from '../parts/states.tsx';
import { TakeAway } from '../parts/take-away.tsx';
import { TimeLeft } from '../parts/time-left.tsx';
import { Holds, LastHour } from './holds.tsx';
import { Line } from './line.tsx';

/** The monitor looks at the line of an open page once a second. */
const ASK_EVERY_MS = 1_000;

export function LockPage({ name }: { readonly name: string }): JSX.Element {
  const detail = useSignal<LockDetail | null>(null);
  const error = useSignal<ApiError | null>(null);
  const attempt = useSignal(0);
  useEffect(() => {
    detail.value = null;
    const path = `api/v1/lock?name=${encodeURIComponent(name.toWellFormed())}`;
    return poll({ path, everyMs: ASK_EVERY_MS, body: detail, error });
  }, [name, attempt.value]);
  void rowsVersion.value;
  const row = rowOf(name) ?? detail.value?.row ?? null;
  return (
    <main class={isStale() ? 'page lock stale' : 'page lock'}>
      <nav class="crumbs" aria-label="Back">
        <a href="#/locks">Locks</a>
      </nav>
      <Head name={name} row={row} />
      {row !== null && row.kind !== 'free' && <Lease row={row} />}
      {detail.value !== null ? (
        <>
          <LastHour holds={detail.value.holds} reach={detail.value.reach} />
          <div class="pair">
            <Line line={detail.value.line} length={detail.value.lineLength} readAt={detail.value.lineAt} />
            <Holds holds={detail.value.holds} />
          </div>
        </>
      ) : error.value !== null ? (
        <Failure
          error={error.value}
          onRetry={() => {
            attempt.value += 1;
          }}
        />
      ) : (
        <Skeleton rows={6} />
      )}
      <p class="quiet">
        Seen from Redis, look by look: what comes and goes between two looks is not seen. Callers that queue
        inside a process are not in Redis; <code>holdfast-telemetry</code> counts them.
      </p>
    </main>
  );
}

function Head({ name, row }: { readonly name: string; readonly row: Row | null }): JSX.Element {
  const isOpen = useSignal(false);
  const isHeld = row !== null && row.kind !== 'free';
  return (
    <div class="head">
      <h1>
        {visible(name)} {row !== null && row.kind !== 'free' && <small class="kind">{row.kind}</small>}
      </h1>
      <p class="who">
        {isHeld ? (
          <HeldBy row={row} />
        ) : row === null ? (
          'Nobody holds it.'
        ) : (
          'Nobody holds it; the line is moving.'
        )}
      </p>
      {isHeld && (
        <TakeAwayButton
          onOpen={() => {
            isOpen.value = true;
          }}
        />
      )}
      {isOpen.value && isHeld && (
        <TakeAway
          row={row}
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </div>
  );
}

function HeldBy({ row }: { readonly row: Row }): JSX.Element {
  const length = row.grantedAt === null ? '' : seconds(now.value - row.grantedAt);
  return (
    <>
      held {row.exact ? '' : 'at least '}
      <b>{length}</b> by <b>{ownerWords(row)}</b>
      {row.votes !== null && ` with ${row.votes.has} of ${row.votes.of} votes`}
    </>
  );
}

function TakeAwayButton({ onOpen }: { readonly onOpen: () => void }): JSX.Element {
  if (picture.value?.viewer.mayAct === true) {
    return (
      <button type="button" class="danger" onClick={onOpen}>
        Take away…
      </button>
    );
  }
  return <span class="quiet">Read only: actions are switched off, or you have not logged in.</span>;
}

function renewalWords(row: Row): string {
  if (row.renewedAt !== null) return `renewed ${seconds(now.value - row.renewedAt)} ago`;
  return row.renewing ? 'renewed' : 'not seen to be renewed: a fixed lease, or too new to tell';
}

function Lease({ row }: { readonly row: Row }): JSX.Element {
  return (
    <dl class="facts wide">
      <dt>time left</dt>
      <dd class="left">
        <TimeLeft row={row} now={now.value} />
      </dd>
      <dt>lease</dt>
      <dd>
        {row.leaseMs === null
          ? 'not known yet'
          : `${seconds(row.leaseMs)}, the longest time left that was seen`}
        ; {renewalWords(row)}
      </dd>
      <dt>entered</dt>
      <dd>
        {row.count}× <span class="quiet">by this owner</span>
      </dd>
      {row.fence !== null && (
        <>
          <dt>fence</dt>
          <dd class="mono">{row.fence}</dd>
        </>
      )}
      <dt>holder id</dt>
      <dd class="mono">{visible(row.holder)}</dd>
      {row.server !== null && (
        <>
          <dt>server</dt>
          <dd>{visible(row.server)}</dd>
        </>
      )}
    </dl>
  );
}
