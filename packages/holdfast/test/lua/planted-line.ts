/** Lines of waiters as the scripts write them, for tests of scripts that read them. */
import type { Database } from './database.ts';

/** Fields that a line has beside its tickets. */
const EMPTY = { first: 1, last: 0, open: 0, window: 0, run: 0, since: 0, guest: 0, linger: '' };

export interface PlantedTicket {
  readonly holder: string;
  readonly session: string;
  /** How it hears of its grant. @default 'p' */
  readonly mode?: 'p' | 's' | 'b' | 'n';
  /** @default 15_000 */
  readonly leftMs?: number;
  /** @default 0 */
  readonly waitedMs?: number;
  /** @default `holdfast_session:<session>` */
  readonly channel?: string;
}

/** Tickets by their places, from 1; null: an empty place. */
export async function plantLine(
  { redis }: Database,
  line: string,
  tickets: readonly (PlantedTicket | null)[],
  state: Partial<typeof EMPTY> = {},
): Promise<void> {
  const [seconds, micros] = await redis.time();
  const nowMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  const fields: Record<string, string | number> = { ...EMPTY, last: tickets.length, ...state };
  for (const [index, ticket] of tickets.entries()) {
    if (ticket === null) continue;
    const { holder, session, mode = 'p', leftMs = 15_000, waitedMs = 0 } = ticket;
    const { channel = `holdfast_session:${session}` } = ticket;
    const [deadlineMs, sinceMs] = [nowMs + leftMs, nowMs - waitedMs];
    fields[index + 1] =
      `${holder} ${echoOf(ticket)} 30000 1000 3 0 ${deadlineMs} ${sinceMs} ${mode} ${channel}`;
    fields[`#${holder}`] = index + 1;
  }
  await redis.hset(line, fields);
  await redis.pexpire(line, 20_000);
}

/** What a grant of that ticket names. */
export function echoOf({ holder }: PlantedTicket): string {
  return `7.1.${Buffer.from(holder).toString('hex').slice(0, 16)}`;
}
