/** An adapted client for the length of a function, for tests outside the matrix. */
import { adaptClient } from '../../src/clients/adapt.ts';
import type { Client } from '../../src/clients/client.ts';
import { Agenda } from '../../src/core/agenda.ts';
import { systemClock } from '../../src/core/clock.ts';
import { systemRandom } from '../../src/core/random.ts';
import type { Caller } from './caller.ts';

/** Closes both clients at the end. */
export async function using<T>(
  made: Caller | Promise<Caller>,
  body: (client: Client) => Promise<T>,
): Promise<T> {
  const options = { agenda: new Agenda(systemClock), random: systemRandom };
  const caller = await made;
  const client = adaptClient(caller.client, options);
  try {
    return await body(client);
  } finally {
    await client.close();
    await caller.end();
  }
}
