/**
 * One process with `redlock` 5 and the settings of its README. Its `acquire` gives up after about three seconds; who
 * needs the lock calls it again, and so does this participant.
 */
import { Redis } from 'ioredis';
import Redlock from 'redlock';
import { answerRequests } from './answer-requests.ts';

/** Of the examples in the README. */
const DURATION_MS = 5_000;

const client = new Redis({ port: Number(process.argv[2]), host: '127.0.0.1' });
await client.ping();
const redlock = new Redlock([client], {
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 200,
  automaticExtensionThreshold: 500,
});
// It tells each failed attempt as an error event too, and an event that nobody hears would end the process.
redlock.on('error', () => {});

answerRequests({
  async take(_, name, { waitMs = Number.POSITIVE_INFINITY, leaseMs = DURATION_MS }) {
    const endMs = performance.now() + waitMs;
    do {
      const lock = await redlock.acquire([name], leaseMs).catch(() => null);
      if (lock !== null) return { fence: 0, free: () => lock.release() };
    } while (performance.now() < endMs);
    return null;
  },
});
