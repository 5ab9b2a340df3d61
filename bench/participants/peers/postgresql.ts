/**
 * Advisory locks of PostgreSQL, through pg: the server queues the waiters in their order, and frees the locks of a
 * connection that ends. No lease and no fence.
 */
import { Client } from 'pg';
import type { OpenParticipant, Participant } from '../participant.ts';
import { LocalQueue } from '../yardsticks/local-queue.ts';

/** Prepared once for each connection, as a program that cares for speed does. */
const LOCK = { name: 'lock', text: 'SELECT pg_advisory_lock(hashtextextended($1, 0))' };
const UNLOCK = { name: 'unlock', text: 'SELECT pg_advisory_unlock(hashtextextended($1, 0))' };

async function open(port: number): Promise<OpenParticipant> {
  const client = new Client({ host: '127.0.0.1', port, user: 'bench', database: 'postgres' });
  client.on('error', () => {});
  await client.connect();
  // A connection that waits for a lock does nothing else, so the callers of one process queue for it.
  const queue = new LocalQueue();
  return {
    async take(key) {
      const endTurn = await queue.turn();
      await client.query({ ...LOCK, values: [key] });
      return async () => {
        await client.query({ ...UNLOCK, values: [key] });
        endTurn();
      };
    },
    close: () => client.end(),
  };
}

export const postgresql: Participant = {
  id: 'postgresql',
  name: 'PostgreSQL advisory lock',
  settings: 'pg 8.23.1',
  role: 'peer',
  server: 'postgresql',
  client: 'pg',
  isTuned: false,
  canRenew: false,
  sends: {},
  open,
};
