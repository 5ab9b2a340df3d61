/**
 * A process that holds a lock and comes to grief, in the way that its task says. It is started by the tests, says
 * what happens in lines of JSON, and keeps its own time.
 */
import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  type AbandonedMessage,
  CHANNELS,
  type FencedLease,
  Locks,
  type RedisClient,
} from '../../../src/index.ts';
import { reach } from '../../support/locks/reach.ts';
import { ExitDelay } from '../../support/processes/exit-delay.ts';
import { FencedResource } from './resource.ts';

export type Task = keyof typeof TASKS;

export interface ChildOrder {
  readonly task: Task;
  readonly port: number;
  readonly client: 'ioredis' | 'node-redis';
  readonly name: string;
  readonly leaseMs: number;
  readonly callTimeoutMs?: number;
  /** The key of what the lock protects. */
  readonly resource?: string;
}

/** Everything a child says. Each line has an `is`, and what that task knows at that moment. */
export interface ChildLine {
  readonly is:
    | 'held'
    | 'ready'
    | 'woken'
    | 'turned'
    | 'wrote'
    | 'lost'
    | 'abandoned'
    | 'heard'
    | 'uncaught'
    | 'done'
    | 'end';
  readonly fence?: number;
  readonly isHeld?: boolean;
  readonly isAborted?: boolean;
  readonly wasOurs?: boolean;
  readonly isTaken?: boolean;
  readonly lock?: string;
  readonly text?: string;
  readonly held?: readonly boolean[];
  readonly aborts?: number;
  /** How long it lived on when it had nothing left to do. */
  readonly livedOnMs?: number;
}

const order = JSON.parse(process.argv[2] ?? '{}') as ChildOrder;

// Standard output is a pipe, which is written at once: a line is out before the next statement runs.
const say = (line: ChildLine): void => console.log(JSON.stringify(line));

/**
 * Never connected itself: the session's own connections are the only ones, and they let the process go. Only the
 * client that is asked for is loaded, because loading one takes longer than everything else here.
 */
async function makeClient({ client, port }: ChildOrder): Promise<RedisClient> {
  if (client === 'ioredis') {
    const { Redis } = await import('ioredis');
    return new Redis(port, '127.0.0.1', { lazyConnect: true });
  }
  const { createClient } = await import('redis');
  return createClient({ socket: { host: '127.0.0.1', port } });
}

const { leaseMs, callTimeoutMs = 2_000 } = order;
const locks = new Locks(await makeClient(order), { leaseMs, callTimeoutMs });

async function hold(name = order.name): Promise<FencedLease> {
  const lease = await locks.lock(name).acquire();
  say({ is: 'held', fence: lease.fence, isHeld: lease.isHeld });
  return lease;
}

/** The next line from the test. What it says does not matter. */
async function toldToGoOn(): Promise<void> {
  process.stdin.resume();
  await once(process.stdin, 'data');
  process.stdin.pause();
}

function blockFor(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

/** Of a lease: less than the tests stop a process for, and more than a busy machine does. */
const PAUSE_SHARE = 0.9;

/** Spins without letting the event loop turn, until it notices that the process was stopped for a while. */
function spinUntilStopped(pauseMs: number): void {
  let lastMs = performance.now();
  say({ is: 'ready' });
  for (;;) {
    const nowMs = performance.now();
    if (nowMs - lastMs >= pauseMs) return;
    lastMs = nowMs;
  }
}

const TASKS = {
  /** Holds it until it is killed. */
  work: async (): Promise<void> => {
    const lease = await hold();
    lease.signal.addEventListener('abort', () => say({ is: 'lost', isHeld: lease.isHeld }));
    // The lease keeps nobody alive; somebody who works does.
    setInterval(() => lease.isHeld, 1_000);
  },

  /** Ends without releasing: nothing is left to do. */
  runDry: async (): Promise<void> => {
    await hold();
  },

  exit: async (): Promise<void> => {
    await hold();
    process.exit(0);
  },

  /** Is stopped in the middle of a statement, then does what an owner does that has not noticed. */
  pauseBusy: async (): Promise<void> => {
    const lease = await hold();
    const { signal } = lease;
    spinUntilStopped(leaseMs * PAUSE_SHARE);
    const { isHeld } = lease;
    say({ is: 'woken', isHeld });
    await nextTurn();
    await nextTurn();
    say({ is: 'turned', isAborted: signal.aborted, isHeld: lease.isHeld });
    const resource = new FencedResource(order.port, order.resource ?? '');
    say({ is: 'wrote', isTaken: await resource.write(lease.fence, 'from the paused owner') });
    say({ is: 'end', wasOurs: await lease.release() });
  },

  /** Is stopped while it waits for something; the first thing that runs afterwards looks at the lease. */
  pauseIdle: async (): Promise<void> => {
    const lease = await hold();
    const { signal } = lease;
    let lastMs = performance.now();
    const looking = setInterval(() => {
      const nowMs = performance.now();
      const hasSlept = nowMs - lastMs >= leaseMs * PAUSE_SHARE;
      lastMs = nowMs;
      if (!hasSlept) return;
      say({ is: 'woken', isHeld: lease.isHeld });
      clearInterval(looking);
    }, 5);
    say({ is: 'ready' });
    await once(signal, 'abort');
    say({ is: 'lost', isHeld: lease.isHeld });
  },

  /** Throws one lease away and keeps another. */
  collect: async (): Promise<void> => {
    subscribe(CHANNELS.abandoned, (message) =>
      say({ is: 'abandoned', lock: (message as AbandonedMessage).lock }),
    );
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const kept = await hold(`${order.name}:kept`);
    await hold(`${order.name}:dropped`);
    const collecting = setInterval(collectGarbage, 100);
    await toldToGoOn();
    say({ is: 'end', isHeld: kept.isHeld, wasOurs: await kept.release() });
    clearInterval(collecting);
  },

  /** Has listeners to a loss that misbehave, and other leases beside the lost one. */
  listeners: async (): Promise<void> => {
    process.on('uncaughtException', ({ message }) => say({ is: 'uncaught', text: message }));
    const [lost, ...others] = await Promise.all(
      ['a', 'b', 'c'].map((letter) => hold(`${order.name}:${letter}`)),
    );
    subscribe(CHANNELS.lost, () => {
      throw new Error('the subscriber fails');
    });
    lost?.signal.addEventListener('abort', () => {
      throw new Error('the listener fails');
    });
    lost?.signal.addEventListener('abort', () => blockFor(leaseMs / 4));
    lost?.signal.addEventListener('abort', async () => {
      throw new Error('the listener rejects');
    });
    lost?.signal.addEventListener('abort', () => say({ is: 'heard', isHeld: lost.isHeld }));
    await toldToGoOn();
    say({ is: 'end', held: others.map(({ isHeld }) => isHeld) });
    await Promise.all(others.map((lease) => lease.release()));
  },

  /** Loses its lease and does nothing about it, nor about errors: whatever nobody handles ends it with code 1. */
  careless: async (): Promise<void> => {
    const lease = await hold();
    const looking = setInterval(() => {
      if (lease.isHeld) return;
      clearInterval(looking);
      say({ is: 'lost' });
    }, 5);
  },

  /** Leaves the scope of `using` when told to; says how often the signal aborted, to the very end. */
  leave: async (): Promise<void> => {
    let aborts = 0;
    const exitDelay = new ExitDelay();
    process.on('exit', () => say({ is: 'end', aborts, livedOnMs: exitDelay.ms }));
    const text = await locks.lock(order.name).using(async (lease) => {
      lease.signal.addEventListener('abort', () => {
        aborts += 1;
      });
      say({ is: 'held', fence: lease.fence });
      await toldToGoOn();
      return 'the result';
    });
    exitDelay.restart();
    say({ is: 'done', text });
  },
} as const;

await reach(locks);
await TASKS[order.task]();
