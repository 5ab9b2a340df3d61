/** Whoever reads an error in a log must find the line of their own program that got it. */
import { tracingChannel } from 'node:diagnostics_channel';
import { describe, expect, test } from 'vitest';
import { type Lease, LockConfigError, Locks } from '../../src/index.ts';
import { OUTCOMES } from '../../src/scripts/outcome.ts';
import { CHANNELS } from '../../src/telemetry/channels.ts';
import { type Fate, fails, hangs, refuses, says } from '../locking/support/scripted-client.ts';
import { Stage, type StageProcess } from '../locking/support/stage.ts';
import { rejection } from '../support/rejection.ts';

interface Scene {
  readonly stage: Stage;
  readonly process: StageProcess;
}

type Attempt = (scene: Scene) => Promise<unknown>;

/** A process whose lock `a` a stranger holds, and whose server knows it already. */
async function setup(): Promise<Scene> {
  const stage = new Stage();
  stage.server.occupy('a', 60_000);
  return { stage, process: await stage.acquaintedProcess({ outageMs: 2_000 }) };
}

/** Asks through the facade, which has verbs of its own. Every call goes the same way. */
function facade({ stage, process }: Scene, fate: Fate = hangs()): Locks {
  process.client.from('any', fate);
  return new Locks(process.client, { clock: stage.clock });
}

function lost({ signal }: Lease): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Each way to fail, by the code it fails with. */
const ATTEMPTS: readonly (readonly [what: string, code: string, attempt: Attempt])[] = [
  ['a wait that is over', 'ELOCKTIMEOUT', ({ process }) => process.lock('a').acquire({ waitMs: 500 })],
  [
    'a wait behind others of the process',
    'ELOCKTIMEOUT',
    async ({ process }) => {
      await process.lock('b').acquire();
      await process.lock('b').acquire({ waitMs: 300 });
    },
  ],
  [
    'a wait that is aborted',
    'ELOCKABORTED',
    ({ stage, process }) => {
      const controller = new AbortController();
      stage.clock.startTimer(100, () => controller.abort());
      return process.lock('a').acquire({ signal: controller.signal });
    },
  ],
  [
    'a wait that is closed',
    'ELOCKCLOSED',
    ({ stage, process }) => {
      stage.clock.startTimer(100, () => void process.session.close(0));
      return process.lock('a').acquire();
    },
  ],
  [
    'a try without an answer',
    'ELOCKUNKNOWN',
    ({ process }) => {
      process.client.from('any', hangs());
      return process.lock('b').tryAcquire();
    },
  ],
  [
    'an outage',
    'ELOCKUNAVAILABLE',
    ({ process }) => {
      process.client.from('any', refuses(5));
      return process.lock('b').acquire();
    },
  ],
  [
    'a key that is something else',
    'ELOCKCONFLICT',
    ({ process }) => {
      process.client.from('any', fails('WRONGTYPE Operation', 5));
      return process.lock('b').acquire();
    },
  ],
  ['bad options', 'ELOCKCONFIG', ({ process }) => process.lock('b').acquire({ leaseMs: -1 })],
  [
    '`using` that does not get it',
    'ELOCKTIMEOUT',
    ({ process }) => process.lock('a').using(() => {}, { waitMs: 500 }),
  ],
  [
    '`using` that loses it',
    'ELOCKLOST',
    ({ stage, process }) =>
      process.lock('b').using(async (lease) => {
        stage.server.delete('b');
        await lost(lease);
      }),
  ],
  [
    'a re-entry that waits for another',
    'ELOCKTIMEOUT',
    ({ process }) =>
      process.lock('b').using(async (within) => {
        await process.lock('b').acquire({ within });
        await process.lock('b').acquire({ within, waitMs: 300 });
      }),
  ],
  [
    'a re-entry into what is lost',
    'ELOCKLOST',
    async ({ process }) => {
      const within = await process.lock('b').acquire({ leaseMs: 500, renew: false });
      await lost(within);
      await process.lock('b').acquire({ within });
    },
  ],
  [
    'a release without an answer',
    'ELOCKUNKNOWN',
    async ({ process }) => {
      const lease = await process.lock('b').acquire();
      process.client.from('any', hangs());
      await lease.release();
    },
  ],
  [
    'an extension without an answer',
    'ELOCKUNKNOWN',
    async ({ process }) => {
      const lease = await process.lock('b').acquire();
      process.client.from('any', hangs());
      await lease.extend(1_000_000);
    },
  ],
  [
    'an extension of what is lost',
    'ELOCKLOST',
    async ({ process }) => {
      const lease = await process.lock('b').acquire({ leaseMs: 500, renew: false });
      await lost(lease);
      await lease.extend(1_000);
    },
  ],
  ['`inspect` without an answer', 'ELOCKUNKNOWN', (scene) => facade(scene).inspect('b')],
  ['`forceRelease` without an answer', 'ELOCKUNKNOWN', (scene) => facade(scene).forceRelease('b')],
  ['`check` without an answer', 'ELOCKUNKNOWN', (scene) => facade(scene).check()],
  [
    '`list` without an answer',
    'ELOCKUNKNOWN',
    async (scene) => {
      for await (const one of facade(scene).list()) expect(one).toBeUndefined();
    },
  ],
  [
    'a wait of `once` that is over',
    'ELOCKTIMEOUT',
    (scene) => {
      const others = says([OUTCOMES.HELD, scene.stage.server.timeMs, 60_000, 'a stranger']);
      return facade(scene, others).once('b', () => 1, { waitMs: 500 });
    },
  ],
  [
    'an outage under `once`',
    'ELOCKUNAVAILABLE',
    (scene) => facade(scene, refuses(5)).once('b', () => 1, { waitMs: 500 }),
  ],
  [
    'a `once` key of another request',
    'EONCEMISMATCH',
    (scene) => {
      const mismatch = says([OUTCOMES.MISMATCH, scene.stage.server.timeMs, 1]);
      return facade(scene, mismatch).once('b', () => 1, { fingerprint: 'another' });
    },
  ],
  [
    '`runJob` in an outage',
    'ELOCKUNAVAILABLE',
    (scene) => facade(scene, refuses(5)).runJob('b', () => {}, { waitMs: 500 }),
  ],
];

/** The stack of what a function of that name, in this file, was given when it awaited. */
async function stackSeenBy(scene: Scene, attempt: Attempt): Promise<{ error: Error; stack: string }> {
  async function theCaller(): Promise<void> {
    await attempt(scene);
  }
  const error = (await scene.stage.until(rejection(theCaller()), 600_000)) as Error;
  return { error, stack: error.stack ?? '' };
}

describe('the stack of an error', () => {
  test.each(ATTEMPTS)('of %s (%s) shows who called', async (_, code, attempt) => {
    const { error, stack } = await stackSeenBy(await setup(), attempt);
    expect(error).toMatchObject({ code });
    expect(stack).toMatch(/ theCaller /);
    expect(stack).toContain(import.meta.filename);
    // It begins as the error reads, with the name of its class.
    expect(stack.startsWith(`${error.name}: ${error.message}\n`)).toBe(true);
  });

  test('shows each of those who wait to itself alone', async () => {
    const { stage, process } = await setup();
    async function first(): Promise<void> {
      await process.lock('a').acquire();
    }
    async function second(): Promise<void> {
      await process.lock('a').acquire();
    }
    const both = Promise.all([rejection(first()), rejection(second())]);
    await stage.clock.advance(100);
    await process.session.close(0);
    const [one, other] = (await both) as [Error, Error];
    expect(one.stack).toMatch(/ first /);
    expect(one.stack).not.toMatch(/ second /);
    expect(other.stack).toMatch(/ second /);
    expect(other.stack).not.toMatch(/ first /);
  });

  test('of a mistake that an attempt finds is told to each who waits in an error of its own', async () => {
    const { process } = await setup();
    const mistake = new LockConfigError('expected independent servers');
    process.topology.acquire = () => Promise.reject(mistake);
    async function first(): Promise<void> {
      await process.lock('b').acquire();
    }
    const errors = (await Promise.all([
      rejection(first()),
      rejection(process.lock('b').acquire()),
    ])) as Error[];
    expect(errors[0]?.stack).toMatch(/ first /);
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'ELOCKCONFIG', message: mistake.message, lock: 'b' });
      expect(error.cause).toBe(mistake);
    }
    expect(errors[0]).not.toBe(errors[1]);
  });

  test('of a loss leaves the one that the signal tells as it was', async () => {
    const { stage, process } = await setup();
    const lease = await process.lock('b').acquire({ leaseMs: 500, renew: false });
    const { signal } = lease;
    await stage.clock.advance(1_000);
    const { stack } = signal.reason;
    const told = (await rejection(lease.extend(1_000))) as Error;
    expect(told).not.toBe(signal.reason);
    expect(told).toMatchObject({ ...signal.reason, message: signal.reason.message, cause: signal.reason });
    expect(signal.reason.stack).toBe(stack);
  });

  test('shows who called also while acquisitions are traced', async () => {
    const channel = tracingChannel(CHANNELS.acquire);
    const listener = (): void => {};
    channel.start.subscribe(listener);
    try {
      const attempt: Attempt = ({ process }) => process.lock('a').acquire({ waitMs: 500 });
      const { stack } = await stackSeenBy(await setup(), attempt);
      expect(stack).toMatch(/ theCaller /);
    } finally {
      channel.start.unsubscribe(listener);
    }
  });

  test('that nobody awaits is told once, and nothing else is rejected', async () => {
    const { stage, process } = await setup();
    const told: unknown[] = [];
    const unhandled = (error: unknown): void => void told.push(error);
    globalThis.process.on('unhandledRejection', unhandled);
    try {
      process
        .lock('a')
        .acquire({ waitMs: 100 })
        .then(
          () => {},
          (error: unknown) => told.push(error),
        );
      await stage.clock.advance(1_000);
      await new Promise(setImmediate);
      expect(told).toMatchObject([{ code: 'ELOCKTIMEOUT' }]);
    } finally {
      globalThis.process.off('unhandledRejection', unhandled);
    }
  });
});
