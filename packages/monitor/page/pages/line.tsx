import type { JSX } from 'preact';
import type { TicketView } from '../../src/api/types.ts';
import { now } from '../data/clock.ts';
import { count, processWords, seconds, visible } from '../data/words.ts';

/** The monitor reads an open line once a second, and less often while many are open: then the page says how old it is. */
const OLD_MS = 4_000;

interface LineProps {
  readonly line: readonly TicketView[];
  readonly length: number;
  readonly readAt: number | null;
}

function ageWords(readAt: number | null): string | null {
  if (readAt === null)
    return 'It has not been read yet: many pages are open, or Redis does not let the monitor read it.';
  const ageMs = now.value - readAt;
  return ageMs < OLD_MS ? null : `As it was ${seconds(ageMs)} ago.`;
}

/** The processes that wait in Redis, the next one first. */
export function Line({ line, length, readAt }: LineProps): JSX.Element {
  const age = ageWords(readAt);
  return (
    <section aria-labelledby="line-title">
      <h2 id="line-title">
        Line{' '}
        <small>
          {length > line.length
            ? `${line.length} of ${count(length)}`
            : length === 0
              ? 'nobody waits'
              : count(length)}
        </small>
      </h2>
      {age !== null && <p class="quiet">{age}</p>}
      {line.length > 0 && (
        <ol class="line">
          {line.map((ticket) => (
            <li key={`${ticket.place} ${ticket.session}`} value={ticket.place}>
              <span class="place">{ticket.place}</span>
              <b>{processWords(ticket) ?? `session ${visible(ticket.session).slice(0, 8)}…`}</b>
              <span>{seconds(now.value - ticket.joinedAt)}</span>
              {!ticket.listening && (
                <span
                  class="quiet"
                  title="It does not listen for its turn: it asks by a timer, or its process is gone"
                >
                  not listening
                </span>
              )}
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
