/** Commands that a participant sent, from the server's statistics. NaN for a participant that is not on Redis. */
import type { Redis } from 'ioredis';
import type { Participant } from '../participants/participant.ts';

export async function commandsSent(admin: Redis, { sends, server = 'redis' }: Participant): Promise<number> {
  if (server !== 'redis') return Number.NaN;
  const stats = await admin.info('commandstats');
  let sent = 0;
  for (const [, command = '', calls] of stats.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)) {
    sent += Number(calls) * (sends[command] ?? 0);
  }
  return sent;
}
