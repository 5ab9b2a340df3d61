/** Commands that a contestant sent, from the server's own count. */
import type { Redis } from 'ioredis';
import type { Entrant } from './contestant.ts';

export async function commandsSent(admin: Redis, { sends }: Entrant): Promise<number> {
  const stats = await admin.info('commandstats');
  let sent = 0;
  for (const [, command = '', calls] of stats.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)) {
    sent += Number(calls) * (sends[command] ?? 0);
  }
  return sent;
}
