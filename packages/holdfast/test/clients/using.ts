/** An adapted client for the length of a function, for tests outside the matrix. */
import { adaptClient } from '../../src/clients/adapt.ts';
import type { Client } from '../../src/clients/client.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { systemRandom } from '../../src/runtime/random.ts';
import { TimerQueue } from '../../src/runtime/timer-queue.ts';
import type { Caller } from './caller.ts';

/** Closes both clients at the end. */
export async function using<T>(
  made: Caller | Promise<Caller>,
  body: (client: Client) => Promise<T>,
): Promise<T> {
  const options = { timers: new TimerQueue(systemClock), random: systemRandom };
  const caller = await made;
  const client = adaptClient(caller.client, options);
  try {
    return await body(client);
  } finally {
    await client.close();
    await caller.end();
  }
}
