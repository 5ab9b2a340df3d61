/** Sentinels whose every answer a test gives by hand. */

import type { Wire, WireEvents } from '../../src/clients/connection/raw-connection.ts';
import { PrimaryDriver } from '../../src/clients/sentinel/primary.ts';
import type { Address, Sentinels } from '../../src/clients/sentinel/search.ts';
import { TimerQueue } from '../../src/runtime/timer-queue.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FakeWire } from './fake-driver.ts';

export const STATE = 'SENTINEL MASTER main';
const ADDRESS = 'SENTINEL GET-MASTER-ADDR-BY-NAME main';
class FakeSentinels implements Sentinels {
  readonly description = 'a fake';
  readonly keyPrefix = '';
  readonly name = 'main';
  readonly addresses: Address[] = [1, 2, 3].map((port) => ({ host: 'sentinel', port }));
  /** Every connection ever made, with where to. */
  readonly wires: { readonly to: string; readonly wire: FakeWire }[] = [];

  ready(): Promise<void> {
    return Promise.resolve();
  }

  dialSentinel(address: Address, events: WireEvents): Wire {
    return this.#dial(address, events);
  }

  dialPrimary(address: Address, events: WireEvents): Wire {
    return this.#dial(address, events);
  }

  /** The oldest open connection to there that has something to answer. */
  to(where: string): FakeWire {
    const found = this.wires.find(({ to, wire }) => to === where && !wire.isDropped && wire.asked.length > 0);
    if (found === undefined) throw new Error(`nobody asks ${where}`);
    return found.wire;
  }

  get open(): string[] {
    return this.wires.filter(({ wire }) => !wire.isDropped).map(({ to }) => to);
  }

  #dial({ host, port }: Address, events: WireEvents): Wire {
    const wire = new FakeWire(events);
    this.wires.push({ to: `${host}:${port}`, wire });
    return wire;
  }
}

export function setUp() {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  const sentinels = new FakeSentinels();
  const driver = new PrimaryDriver(sentinels, timers);
  const lost: string[] = [];
  const dial = (): Wire => driver.dial({ lost: (cause) => lost.push(String(cause)), message: () => {} });
  /** The two differ while it leads a failover. */
  const say = async (port: number, host: string, epoch: number, stateHost = host): Promise<void> => {
    const wire = sentinels.to(`sentinel:${port}`);
    wire.next('connect').answer();
    await clock.settle();
    const state = ['name', 'main', 'ip', stateHost, 'port', '7', 'config-epoch', `${epoch}`];
    wire.next('command', STATE).answer(state);
    wire.next('command', ADDRESS).answer([host, '7']);
    await clock.settle();
  };
  return { clock, timers, sentinels, dial, lost, say };
}

type Parts = ReturnType<typeof setUp>;

export function earOf({ sentinels }: Parts, port: number): FakeWire {
  const [ear] = sentinels.wires.filter(({ to, wire }) => to === `sentinel:${port}` && !wire.isDropped);
  if (ear === undefined) throw new Error(`nobody listens to sentinel ${port}`);
  return ear.wire;
}

/** It is lost, and a second later listened to again. */
export async function listenAgain(parts: Parts, port: number): Promise<void> {
  const { clock, sentinels } = parts;
  earOf(parts, port).events.lost(new Error('gone'));
  await clock.advance(1_000);
  const again = sentinels.to(`sentinel:${port}`);
  again.next('connect').answer();
  await clock.settle();
  again.next('subscribe', '+switch-master').answer();
  await clock.settle();
}

/** A connection that is up, to the server called `old`, with all sentinels listened to. */
export async function connected() {
  const parts = setUp();
  const { clock, sentinels, say } = parts;
  const wire = parts.dial();
  const connecting = wire.connect();
  await clock.settle();
  for (const port of [1, 2, 3]) await say(port, 'old', 1);
  const primary = sentinels.to('old:7');
  primary.next('connect').answer();
  await clock.settle();
  primary.next('command', 'ROLE').answer(['master', 1, []]);
  await connecting;
  for (const port of [1, 2, 3]) {
    const ear = sentinels.to(`sentinel:${port}`);
    ear.next('connect').answer();
    await clock.settle();
    ear.next('subscribe', '+switch-master').answer();
    await clock.settle();
  }
  // The first may have missed something before it listened, and so may the others, which listened later.
  for (const port of [1, 2, 3, 1, 2, 3]) await say(port, 'old', 1);
  return { ...parts, wire, primary };
}
