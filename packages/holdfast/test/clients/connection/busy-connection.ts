/** A connection with calls in flight, so that further calls are gathered; and calls that can be bundled. */
import { expect } from 'vitest';
import type { ScriptCall, ScriptText } from '../../../src/clients/client.ts';
import { Connection } from '../../../src/clients/connection/connection.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { echo } from '../scripts.ts';
import { FakeDriver, type FakeRawConnection } from './fake-driver.ts';

const TAKE: ScriptText = {
  name: 'take',
  sha: 'take',
  source: '',
  bundle: { name: 'takes', sha: 'takes', source: '' },
};
const GIVE: ScriptText = {
  name: 'give',
  sha: 'give',
  source: '',
  bundle: { name: 'gives', sha: 'gives', source: '' },
};

export function take(key: string, word = key): ScriptCall {
  return { script: TAKE, keys: [key], args: [word] };
}

export function give(key: string): ScriptCall {
  return { script: GIVE, keys: [key], args: [key] };
}

interface Busy {
  readonly clock: FakeClock;
  readonly driver: FakeDriver;
  readonly raw: FakeRawConnection;
  readonly connection: Connection;
  /** Answers the calls in flight. */
  readonly finish: () => Promise<void>;
}

export async function busy(bundleMax = 128): Promise<Busy> {
  const clock = new FakeClock();
  const driver = new FakeDriver();
  const connection = new Connection(driver, new TimerQueue(clock), { bundleMax });
  const words = ['first', 'second'];
  const calls = words.map((word) => connection.run(echo(word), 60_000));
  driver.raw.next('connect').answer();
  await clock.settle();
  const asked = words.map((word) => driver.raw.next('evalsha', `echo ${word}`));
  const finish = async (): Promise<void> => {
    for (const one of asked) one.answer('');
    await Promise.all(calls);
  };
  return { clock, driver, raw: driver.raw, connection, finish };
}

/** The same, with nothing in flight. */
export async function idle(bundleMax?: number): Promise<Busy> {
  const parts = await busy(bundleMax);
  await parts.finish();
  return parts;
}

/** Everything that was written has been looked at by the test. */
export function expectNothingElse({ asked }: FakeRawConnection): void {
  expect(asked.map(({ verb, what }) => `${verb} ${what}`)).toEqual([]);
}
