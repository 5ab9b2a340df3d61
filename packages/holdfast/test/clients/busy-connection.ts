/** A connection with calls on their way, so that the others are gathered; and calls that can be. */
import type { ScriptCall, ScriptText } from '../../src/clients/client.ts';
import { Connection } from '../../src/clients/connection/connection.ts';
import { TimerQueue } from '../../src/runtime/timer-queue.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FakeDriver, type FakeWire } from './fake-driver.ts';
import { echo } from './scripts.ts';

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
  readonly wire: FakeWire;
  readonly connection: Connection;
  /** Answers those that are on their way. */
  readonly finish: () => Promise<void>;
}

export async function busy(bundleMax = 128): Promise<Busy> {
  const clock = new FakeClock();
  const driver = new FakeDriver();
  const connection = new Connection(driver, new TimerQueue(clock), bundleMax);
  const words = ['first', 'second'];
  const calls = words.map((word) => connection.run(echo(word), 60_000));
  driver.wire.next('connect').answer();
  await clock.settle();
  const asked = words.map((word) => driver.wire.next('evalsha', `echo ${word}`));
  const finish = async (): Promise<void> => {
    for (const one of asked) one.answer('');
    await Promise.all(calls);
  };
  return { clock, driver, wire: driver.wire, connection, finish };
}

/** The same, with nothing on its way. */
export async function idle(bundleMax?: number): Promise<Busy> {
  const parts = await busy(bundleMax);
  await parts.finish();
  return parts;
}
