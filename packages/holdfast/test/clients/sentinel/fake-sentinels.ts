/** Sentinels whose every answer a test gives by hand. */

import type { RawConnection, RawConnectionEvents } from '../../../src/clients/connection/raw-connection.ts';
import type { Address } from '../../../src/clients/sentinel/address.ts';
import { PrimaryDriver } from '../../../src/clients/sentinel/primary.ts';
import type { Sentinels } from '../../../src/clients/sentinel/search.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeRawConnection } from '../connection/fake-driver.ts';

export const STATE = 'SENTINEL MASTER main';
const ADDRESS = 'SENTINEL GET-MASTER-ADDR-BY-NAME main';

class FakeSentinels implements Sentinels {
  readonly description = 'a fake';
  readonly keyPrefix = '';
  readonly name = 'main';
  readonly addresses: Address[] = [1, 2, 3].map((port) => ({ host: 'sentinel', port }));
  /** Every connection ever dialled, with where to. */
  readonly dialled: { readonly to: string; readonly raw: FakeRawConnection }[] = [];

  ready(): Promise<void> {
    return Promise.resolve();
  }

  dialSentinel(address: Address, events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection> {
    return this.#dial(address, events, signal);
  }

  dialPrimary(address: Address, events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection> {
    return this.#dial(address, events, signal);
  }

  /** The oldest open connection to there that has something to answer. */
  to(where: string): FakeRawConnection {
    const found = this.dialled.find(({ to, raw }) => to === where && !raw.isClosed && raw.asked.length > 0);
    if (found === undefined) throw new Error(`nobody asks ${where}`);
    return found.raw;
  }

  /** Where the connections lead that are not closed. */
  get open(): string[] {
    return this.dialled.filter(({ raw }) => !raw.isClosed).map(({ to }) => to);
  }

  #dial({ host, port }: Address, events: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection> {
    const raw = new FakeRawConnection(events, signal);
    this.dialled.push({ to: `${host}:${port}`, raw });
    return raw.connect();
  }
}

/** A connection to the primary, or an attempt at one. */
interface Dialled {
  /** `up`, or why it did not come up. */
  readonly outcome: Promise<string>;
  close(): void;
}

export function setUp() {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  const sentinels = new FakeSentinels();
  const driver = new PrimaryDriver(sentinels, timers);
  const lost: string[] = [];
  const dial = (): Dialled => {
    const lifetime = new AbortController();
    const events = {
      lost: (cause: unknown) => lost.push(String(cause)),
      message: () => {},
      dropped: () => {},
    };
    const outcome = driver.dial(events, lifetime.signal).then(() => 'up', String);
    return { outcome, close: () => lifetime.abort() };
  };
  /** The two hosts differ while the sentinel leads a failover. */
  const say = async (port: number, host: string, epoch: number, stateHost = host): Promise<void> => {
    const raw = sentinels.to(`sentinel:${port}`);
    raw.next('connect').answer();
    await clock.settle();
    const state = ['name', 'main', 'ip', stateHost, 'port', '7', 'config-epoch', `${epoch}`];
    raw.next('command', STATE).answer(state);
    raw.next('command', ADDRESS).answer([host, '7']);
    await clock.settle();
  };
  return { clock, timers, sentinels, dial, lost, say };
}

type Parts = ReturnType<typeof setUp>;

/** The connection on which a sentinel is listened to. */
export function listenerOf({ sentinels }: Parts, port: number): FakeRawConnection {
  const [listener] = sentinels.dialled.filter(({ to, raw }) => to === `sentinel:${port}` && !raw.isClosed);
  if (listener === undefined) throw new Error(`nobody listens to sentinel ${port}`);
  return listener.raw;
}

/** The connection to a sentinel is lost, and a second later the sentinel is listened to again. */
export async function listenAgain(parts: Parts, port: number): Promise<void> {
  const { clock, sentinels } = parts;
  listenerOf(parts, port).events.lost(new Error('gone'));
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
  const connection = parts.dial();
  await clock.settle();
  for (const port of [1, 2, 3]) await say(port, 'old', 1);
  const primary = sentinels.to('old:7');
  primary.next('connect').answer();
  await clock.settle();
  primary.next('command', 'ROLE').answer(['master', 1, []]);
  if ((await connection.outcome) !== 'up') throw new Error(await connection.outcome);
  for (const port of [1, 2, 3]) {
    const listener = sentinels.to(`sentinel:${port}`);
    listener.next('connect').answer();
    await clock.settle();
    listener.next('subscribe', '+switch-master').answer();
    await clock.settle();
  }
  // The first may have missed something before it listened, and so may the others, which listened later.
  for (const port of [1, 2, 3, 1, 2, 3]) await say(port, 'old', 1);
  return { ...parts, connection, primary };
}
