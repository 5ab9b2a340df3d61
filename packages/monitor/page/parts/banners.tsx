/**
 * One line for each thing that makes the picture less than live: it is old, it is kept, or a part of it is missing. What
 * counts in a banner is hidden from readers that read aloud: they would read the whole banner anew with every second.
 */
import type { JSX } from 'preact';
import { now } from '../data/clock.ts';
import { HEALTH_WORDS } from '../data/health.ts';
import { togglePause } from '../data/keys.ts';
import { changesHeldBack, notice, pausedAt, picture, servers } from '../data/store.ts';
import { link, retryNow } from '../data/stream.ts';
import { clock, count, seconds, visible } from '../data/words.ts';
import { Shape } from './marks.tsx';

/** A look comes every second or two; a picture that is older than this is not live. */
export const STALE_MS = 5_000;

/** Whether times left say nothing any more: the bars are greyed. */
export function isStale(): boolean {
  const lookedAt = picture.value?.totals.lookedAt ?? null;
  return link.value.state === 'lost' || (lookedAt !== null && now.value - lookedAt > STALE_MS);
}

export function Banners(): JSX.Element {
  return (
    <div class="banners">
      <LostBanner />
      <RedisBanner />
      <ForbiddenBanner />
      <LeftOutBanner />
      <PausedBanner />
      <Notice />
    </div>
  );
}

function LostBanner(): JSX.Element | null {
  const { value } = link;
  if (value.state !== 'lost') return null;
  return (
    <p class="banner warn" role="alert">
      <Shape name="cross" /> <strong>Connection to the monitor lost</strong>{' '}
      <span aria-hidden="true">{seconds(now.value - value.since)} ago.</span> This is the picture of{' '}
      {clock(value.since)}; ages run on.
      <button type="button" onClick={retryNow}>
        Retry now
      </button>
    </p>
  );
}

function RedisBanner(): JSX.Element | null {
  const away = servers.value.filter(({ health, role }) => health !== 'up' && role !== 'sentinel');
  const lookedAt = picture.value?.totals.lookedAt ?? null;
  const isOld = lookedAt !== null && now.value - lookedAt > STALE_MS;
  if (away.length === 0 && !(isOld && link.value.state === 'live')) return null;
  const [first] = away;
  return (
    <p class="banner warn" role="alert">
      <Shape name="square" />{' '}
      {first === undefined ? (
        <strong>Redis answers slowly or not at all</strong>
      ) : (
        <>
          <strong>
            {away.length === 1 ? visible(first.id) : `${away.length} servers, ${visible(first.id)} first,`}{' '}
            {HEALTH_WORDS[first.health]}
          </strong>{' '}
          since {clock(first.healthSince)}
          {first.trouble !== null && ` (${visible(first.trouble)})`}
        </>
      )}
      . {isOld && lookedAt !== null && <>Locks as of {clock(lookedAt)}.</>} <a href="#/servers">Servers</a>
    </p>
  );
}

function ForbiddenBanner(): JSX.Element | null {
  const lacks = picture.value?.forbidden ?? [];
  if (lacks.length === 0) return null;
  return (
    <details class="banner info">
      <summary>
        <Shape name="ring" />{' '}
        <strong>
          The monitor's Redis user lacks {lacks.length === 1 ? 'a right' : `${lacks.length} rights`}: some
          figures are not known
        </strong>
      </summary>
      <ul>
        {lacks.map(({ server, what, aclLine }) => (
          <li key={`${server} ${what}`}>
            {visible(server)}: {visible(what)}
            <pre>{visible(aclLine)}</pre>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Totals count only what is shown: whoever reads them must know that there is more. */
function LeftOutBanner(): JSX.Element | null {
  const leftOut = picture.value?.survey.leftOut ?? 0;
  if (leftOut === 0) return null;
  return (
    <p class="banner info" role="status">
      <Shape name="ring" /> <strong>Not all locks are shown.</strong> The monitor has found{' '}
      <span aria-hidden="true">about {count(leftOut)}</span> more than it keeps of one server; figures and
      alerts are of the others.
    </p>
  );
}

function PausedBanner(): JSX.Element | null {
  if (pausedAt.value === null) return null;
  return (
    <p class="banner info" role="status">
      <Shape name="pause" /> <strong>Paused</strong> at {clock(pausedAt.value)}.{' '}
      <span aria-hidden="true">
        {changesHeldBack.value > 0 && `${count(changesHeldBack.value)} locks have changed since.`}
      </span>
      <button type="button" onClick={togglePause}>
        Go on <kbd>p</kbd>
      </button>
    </p>
  );
}

function Notice(): JSX.Element | null {
  if (notice.value === null) return null;
  return (
    <p class="banner info" role="status">
      <Shape name="tick" /> {visible(notice.value)}
      <button
        type="button"
        onClick={() => {
          notice.value = null;
        }}
      >
        Dismiss
      </button>
    </p>
  );
}
