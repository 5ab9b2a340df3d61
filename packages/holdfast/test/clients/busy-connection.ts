/** A connection with one call on its way, so that the others are gathered; and calls that can be. */
import type { ScriptCall, ScriptText } from '../../src/clients/client.ts';
import { Connection } from '../../src/clients/connection.ts';
import { Agenda } from '../../src/core/agenda.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type Asked, FakeDriver, type FakeWire } from './fake-driver.ts';
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
  readonly first: Promise<unknown>;
  /** The one that is on its way. */
  readonly open: Asked;
}

export async function busy(bundleMax = 128): Promise<Busy> {
  const clock = new FakeClock();
  const driver = new FakeDriver();
  const connection = new Connection(driver, new Agenda(clock), bundleMax);
  const first = connection.run(echo('first'), 60_000);
  driver.wire.next('connect').answer();
  await clock.settle();
  const open = driver.wire.next('evalsha', 'echo first');
  return { clock, driver, wire: driver.wire, connection, first, open };
}

/** The same, with nothing on its way. */
export async function idle(bundleMax?: number): Promise<Busy> {
  const parts = await busy(bundleMax);
  parts.open.answer('first');
  await parts.first;
  return parts;
}
