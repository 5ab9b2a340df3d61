/** The holds of the last hour: a strip of time, and the same as a list that says how each ended and how sure that is. */
import type { JSX } from 'preact';
import type { End, HoldView } from '../../src/api/types.ts';
import { now } from '../data/clock.ts';
import { endMeaning, endWords, isBadEnd } from '../data/ends.ts';
import { clock, duration, moment, ownerWords, seconds } from '../data/words.ts';
import { Shape, type ShapeName } from '../parts/marks.tsx';

const HOUR_MS = 3_600_000;
/** Below this share of the strip a label has no room. */
const LABEL_SHARE = 0.07;

interface LastHourProps {
  readonly holds: readonly HoldView[];
  readonly reach: number;
}

export function LastHour({ holds, reach }: LastHourProps): JSX.Element {
  const from = Math.max(reach, now.value - HOUR_MS);
  return (
    <section aria-labelledby="hour-title">
      <h2 id="hour-title">
        Last hour{' '}
        <small>
          {holds.length === 0
            ? 'no hold seen'
            : `${holds.length}${holds.length === 200 ? ' latest' : ''} holds seen`}
          {from > now.value - HOUR_MS + 60_000 && `; remembered since ${clock(from)}`}
        </small>
      </h2>
      {holds.length > 0 && <Strip holds={holds} from={from} to={now.value} />}
    </section>
  );
}

export function Holds({ holds }: { readonly holds: readonly HoldView[] }): JSX.Element {
  return (
    <section aria-labelledby="holds-title">
      <h2 id="holds-title">
        Holds <small>the newest first</small>
      </h2>
      <ol class="holds">
        {holds.map((hold) => (
          <li key={`${hold.holder} ${hold.from}`}>
            <time>{moment(hold.from, now.value)}</time>
            <b title={ownerWords(hold)}>{ownerWords(hold)}</b>
            <span>{hold.to === null ? seconds(now.value - hold.from) : duration(hold.to - hold.from)}</span>
            <span class={isBadEnd(hold.end) ? 'mark is-late' : 'mark'} title={endMeaning(hold.end)}>
              <Shape name={shapeOf(hold.end)} /> {endWords(hold)}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function shapeOf(end: End | null): ShapeName {
  if (end === null) return 'dot';
  if (isBadEnd(end)) return 'cross';
  return end === 'unknown' ? 'ring' : 'tick';
}

/** A picture of what the list below says: hidden from readers that read aloud. */
function Strip({
  holds,
  from,
  to,
}: {
  readonly holds: readonly HoldView[];
  readonly from: number;
  readonly to: number;
}): JSX.Element {
  const span = Math.max(1, to - from);
  const place = (time: number): number => Math.min(1, Math.max(0, (time - from) / span));
  return (
    <div class="strip" aria-hidden="true">
      {holds.map((hold) => {
        const [left, right] = [place(hold.from), place(hold.to ?? to)];
        const look = hold.end === null ? 'now' : isBadEnd(hold.end) ? 'bad' : 'over';
        return (
          <span
            key={`${hold.holder} ${hold.from}`}
            class={`piece ${look}`}
            style={{ left: `${left * 100}%`, width: `${(right - left) * 100}%` }}
            title={`${ownerWords(hold)}, ${endWords(hold)}`}
          >
            {right - left > LABEL_SHARE && (hold.app ?? ownerWords(hold))}
          </span>
        );
      })}
      <span class="tick-from">{clock(from)}</span>
      <span class="tick-to">now</span>
    </div>
  );
}
