/** How a loop attempts, listens, sleeps and gives up, whatever it waits for and for whomever. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CallFailure } from '../../src/clients/client.ts';
import type { Refusal } from '../../src/locking/failures.ts';
import { type AwaitedLine, WaitLoop, type WaitParty } from '../../src/locking/waiting/wait-loop.ts';
import { CHANNELS, type WokenMessage } from '../../src/telemetry/channels.ts';
import { failed, HELD, ScriptedTopology } from './support/scripted-topology.ts';

const GRANTED = { is: 'granted' } as const;

/** Servers without a line of waiters. */
const NO_LINE: AwaitedLine<typeof GRANTED> = {
  hasStated: false,
  hears: false,
  listen: async () => null,
  attach() {},
  claim: () => null,
};

/** Somebody who waits until the test says that nobody does. */
class Party implements WaitParty {
  isOver = false;
  leftMs = Number.POSITIVE_INFINITY;
  readonly heard: string[] = [];

  held(): void {
    this.heard.push('held');
  }

  failed(): number {
    this.heard.push('failed');
    return Number.POSITIVE_INFINITY;
  }

  giveUp({ is }: { readonly is: string }): void {
    this.heard.push(`gave up: ${is}`);
    this.isOver = true;
  }
}

/** A loop whose attempts are answered by what stands in `answers`, in turn; `held` when nothing is left there. */
function setup() {
  const topology = new ScriptedTopology();
  const { clock, timers, options } = topology;
  const party = new Party();
  const answers: (Refusal | typeof GRANTED | Promise<Refusal>)[] = [];
  const attemptedMs: number[] = [];
  const loop = new WaitLoop<typeof GRANTED>({ timers, topology, options }, party, {
    subject: { kind: 'lock', name: 'a', channel: 'a-channel' },
    line: NO_LINE,
    attempt: async () => {
      attemptedMs.push(clock.monotonicMs() - 1_000);
      return answers.shift() ?? (HELD as Refusal);
    },
  });
  return { topology, clock, timers, options, party, answers, attemptedMs, loop };
}

type Scene = ReturnType<typeof setup>;

/** A loop that sleeps because somebody else holds what it wants, and listens. */
async function asleep(): Promise<Scene & { run: Promise<typeof GRANTED | null> }> {
  const scene = setup();
  const run = scene.loop.run(null, 0);
  await scene.clock.settle();
  expect([scene.attemptedMs, scene.loop.isListening]).toEqual([[0, 0], true]);
  return { ...scene, run };
}

describe('a wait loop', () => {
  const reasons: string[] = [];
  const note = (message: unknown): void => void reasons.push((message as WokenMessage).reason);
  beforeEach(() => {
    reasons.length = 0;
    subscribe(CHANNELS.woken, note);
  });
  afterEach(() => unsubscribe(CHANNELS.woken, note));

  test('returns what it was granted, and builds nothing for it', async () => {
    const { loop, answers, timers, topology, clock } = setup();
    answers.push(GRANTED);
    expect(await loop.run(null, 0)).toBe(GRANTED);
    expect([timers.size, topology.listeners, clock.pendingTimers]).toEqual([0, 0, 0]);
  });

  test('ends a sleep by a message, a restored subscription or the time, and says which', async () => {
    const { topology, clock, attemptedMs, answers, run } = await asleep();
    await clock.advance(10);
    topology.publish();
    await clock.settle();
    await clock.advance(10);
    topology.publish(null);
    await clock.settle();
    answers.push(GRANTED);
    await clock.advance(5_000);
    expect(await run).toBe(GRANTED);
    expect([reasons, attemptedMs]).toEqual([
      ['message', 'resync', 'time'],
      [0, 0, 10, 20, 5_020],
    ]);
  });

  test('keeps a hint that comes while an attempt is under way', async () => {
    const { topology, clock, attemptedMs, answers } = await asleep();
    answers.push(new Promise((resolve) => clock.startTimer(30, () => resolve(HELD as Refusal))));
    topology.publish();
    await clock.advance(20);
    topology.publish();
    await clock.advance(10);
    expect(attemptedMs).toEqual([0, 0, 0, 30]);
  });

  test('forgets, with the next attempt, the hints that the attempt will see for itself', async () => {
    const { topology, clock, attemptedMs } = await asleep();
    topology.publish();
    topology.publish();
    await clock.advance(4_999);
    expect(attemptedMs).toEqual([0, 0, 0]);
  });

  describe('that lets others ask first after a release', () => {
    /** Servers without a line, for whose time a new period begins with each release, and chance that says half of the pause. */
    async function courteous(leftMs: number): Promise<Scene & { run: Promise<typeof GRANTED | null> }> {
      const scene = setup();
      let serverMs = 0;
      const serverTimeMs = (): number => {
        serverMs += 2_000;
        return serverMs;
      };
      Object.assign(scene.topology, { serverTimeMs });
      Object.assign(scene.options, { random: { fraction: () => 0.5 } });
      scene.party.leftMs = leftMs;
      const run = scene.loop.run(null, 0);
      await scene.clock.settle();
      return { ...scene, run };
    }

    test('asks after the pause', async () => {
      const { topology, clock, attemptedMs } = await courteous(Number.POSITIVE_INFINITY);
      topology.publish();
      await clock.settle();
      expect(attemptedMs).toEqual([0, 0]);
      await clock.advance(400);
      expect(attemptedMs).toHaveLength(3);
    });

    test('asks at once if its caller would not live to see the end of the pause', async () => {
      const { topology, clock, attemptedMs } = await courteous(5);
      topology.publish();
      await clock.settle();
      expect(attemptedMs).toEqual([0, 0, 0]);
    });

    test('ends with its last caller, in the middle of the pause', async () => {
      const { topology, clock, party, loop, attemptedMs, timers, run } = await courteous(
        Number.POSITIVE_INFINITY,
      );
      topology.publish();
      await clock.settle();
      party.isOver = true;
      loop.stop();
      expect(await run).toBe(null);
      expect([attemptedMs, timers.size]).toEqual([[0, 0], 0]);
    });

    test('ends with its last caller, in the pause after its own release', async () => {
      const { loop, party, timers, attemptedMs } = setup();
      const run = loop.run(null, 100);
      party.isOver = true;
      loop.stop();
      expect(await run).toBe(null);
      expect([attemptedMs, timers.size]).toEqual([[], 0]);
    });
  });

  test('leaves no deadline behind, and holds the process only while it sleeps', async () => {
    const { topology, timers, clock, answers, run } = await asleep();
    expect([timers.size, clock.refdTimers]).toEqual([1, 1]);
    answers.push(GRANTED);
    topology.publish();
    await run;
    expect([timers.size, clock.refdTimers]).toEqual([0, 0]);
  });

  test('listens on when it has ended, until it is stopped', async () => {
    const { topology, loop, answers, run } = await asleep();
    answers.push(GRANTED);
    topology.publish();
    await run;
    expect([loop.isListening, topology.listeners]).toEqual([true, 1]);
    loop.stop();
    expect([loop.isListening, topology.listeners]).toEqual([false, 0]);
  });

  test('ends its sleep when it is stopped, tells nobody so, and returns null when nobody waits', async () => {
    const { loop, party, timers, run } = await asleep();
    party.isOver = true;
    loop.stop();
    expect(await run).toBe(null);
    expect([reasons, timers.size]).toEqual([[], 0]);
  });

  test('goes on after a stop when somebody has come meanwhile, and listens again', async () => {
    const { loop, topology, clock, attemptedMs } = await asleep();
    loop.stop();
    await clock.settle();
    expect([attemptedMs.length, loop.isListening, topology.listeners]).toEqual([4, true, 1]);
  });

  test('undoes a subscription that is confirmed after it was stopped', async () => {
    const { loop, topology, party, clock } = setup();
    topology.listening = new Promise((resolve) => clock.startTimer(30, () => resolve(null)));
    const run = loop.run(null, 0);
    await clock.advance(10);
    party.isOver = true;
    loop.stop();
    await clock.advance(20);
    expect(await run).toBe(null);
    expect([loop.isListening, topology.listeners]).toEqual([false, 0]);
  });

  test.each([
    ['unreachable', 10],
    ['unknown', 10],
    ['reply', 5_000],
  ] as const)('sleeps when a subscription fails, before it tries again: %s', async (kind, nextMs) => {
    const { loop, topology, clock, attemptedMs } = setup();
    topology.listening = new CallFailure(kind, 'no');
    void loop.run(null, 0);
    await clock.advance(nextMs);
    expect([attemptedMs, loop.isListening]).toEqual([[0, nextMs], false]);
  });

  test('that was stopped has no hints left over', async () => {
    const { loop, clock, attemptedMs, answers } = await asleep();
    answers.push(new Promise((resolve) => clock.startTimer(30, () => resolve(failed(false) as Refusal))));
    loop.hear('0');
    await clock.settle();
    // Heard while an attempt is under way, and stopped before its answer.
    loop.hear('0');
    loop.stop();
    await clock.advance(39);
    expect(attemptedMs).toEqual([0, 0, 0]);
    await clock.advance(1);
    expect(attemptedMs[3]).toBe(40);
  });

  test('goes on from a refusal that came before, without asking again first', async () => {
    const { loop, clock, attemptedMs, party } = setup();
    void loop.run(failed(false) as Refusal, 0);
    await clock.settle();
    expect([attemptedMs, party.heard]).toEqual([[], ['failed']]);
    await clock.advance(10);
    expect(attemptedMs[0]).toBe(10);
  });

  test('pauses for the whole of it, whatever it hears meanwhile', async () => {
    const { loop, clock, attemptedMs } = setup();
    void loop.run(null, 2);
    loop.hear('0');
    await clock.advance(1.9);
    expect(attemptedMs).toEqual([]);
    await clock.advance(0.1);
    expect(attemptedMs[0]).toBeCloseTo(2);
  });

  test.each([
    ['a conflict', { is: 'conflict', found: 'a list' }],
    ['a failure that will not pass', { ...failed(false), canRetry: false }],
    ['an attempt that threw', { is: 'broken', error: new Error('no') }],
  ])('gives up after %s', async (_, refusal) => {
    const { loop, answers, party } = setup();
    answers.push(refusal as Refusal);
    expect(await loop.run(null, 0)).toBe(null);
    expect(party.heard).toEqual([`gave up: ${refusal.is}`]);
  });

  test('gives up when votes stay split, after random pauses', async () => {
    const { loop, clock, answers, party, topology } = setup();
    const most = topology.options.splitVotesMax;
    for (let i = 0; i <= most; i += 1) answers.push({ ...HELD, isSplit: true } as Refusal);
    const run = loop.run(null, 0);
    await clock.advance(most * 1_000);
    expect(await run).toBe(null);
    expect(party.heard.filter((what) => what === 'held')).toHaveLength(most + 1);
    expect(party.heard.at(-1)).toBe('gave up: held');
    // Nobody holds it, so nobody will say that it is free.
    expect(topology.listeners).toBe(0);
  });

  test('makes its first attempt in the async context of its caller, and those for everybody in nobody’s', async () => {
    const context = new AsyncLocalStorage<string>();
    const topology = new ScriptedTopology();
    const { clock, timers, options } = topology;
    const seen: (string | undefined)[] = [];
    const loop = new WaitLoop<typeof GRANTED>({ timers, topology, options }, new Party(), {
      subject: { kind: 'lock', name: 'a', channel: 'a-channel' },
      line: NO_LINE,
      attempt: async () => {
        seen.push(context.getStore());
        return HELD as Refusal;
      },
    });
    context.run('caller', () => void loop.run(null, 0));
    await clock.settle();
    expect(seen).toEqual(['caller', undefined]);
  });
});
