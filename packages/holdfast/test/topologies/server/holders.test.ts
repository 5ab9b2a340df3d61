/** Safety rule 5 where it lives: every way in which a hold can be left behind on a server, and what ends it. */
import { describe, expect, test } from 'vitest';
import { LockProtocol } from '../../../src/primitives/lock/protocol.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';
import type { Decision } from '../../../src/topologies/server/decision.ts';
import { Holders } from '../../../src/topologies/server/holders.ts';
import { useLateReleaseLog } from '../../locking/support/late-release-log.ts';
import { CountedRandom } from '../../locking/support/stage.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import {
  FAILED,
  GONE,
  GRANTED,
  HELD,
  REFUSED,
  RELEASED,
  ScriptedDecider,
  UNANSWERED,
  UNBOUNDED,
  VOID,
} from '../support/scripted-decider.ts';

const CALL_MS = 500;
const LEASE_MS = 10_000;
const lock = new LockProtocol('a', 'a', 0);
const HOLD = { holder: 's:1', leaseMs: LEASE_MS, fences: 1 };
const RELEASE = { holder: 's:1', leaseMs: LEASE_MS };

const late = useLateReleaseLog();

interface Scene {
  readonly clock: FakeClock;
  readonly timers: TimerQueue;
  readonly decider: ScriptedDecider;
  readonly holders: Holders;
  acquire(...decisions: (Decision | Promise<Decision>)[]): ReturnType<Holders['acquire']>;
}

function setScene(isVote = false): Scene {
  const clock = new FakeClock();
  const timers = new TimerQueue(clock);
  const decider = new ScriptedDecider();
  const options = { callTimeoutMs: CALL_MS, random: new CountedRandom() };
  const holders = new Holders(timers, decider, options, isVote);
  const acquire = (...decisions: (Decision | Promise<Decision>)[]): ReturnType<Holders['acquire']> => {
    decider.decisions.splice(0, Number.POSITIVE_INFINITY, ...decisions);
    return holders.acquire(lock, HOLD, CALL_MS);
  };
  return { clock, timers, decider, holders, acquire };
}

const count = ({ decider }: Scene): number => decider.releases.length;

describe('what the caller is told of an acquire', () => {
  test.each<[string, Decision, object]>([
    ['a refusal leaves nothing', REFUSED, { is: 'failed', canRetry: true, mayBeGranted: false }],
    ['no answer may be a grant', UNANSWERED, { is: 'failed', canRetry: true, mayBeGranted: true }],
    ['a void grant is given back', VOID, { is: 'failed', canRetry: true, mayBeGranted: false }],
    ['a holder is told as it is', HELD, HELD],
    ['a grant is told as it is', GRANTED, GRANTED],
  ])('%s', async (_, decision, result) => {
    expect(await setScene().acquire(decision)).toEqual(expect.objectContaining(result));
  });

  test('a refusal behind an unanswered acquire does not make that one undone', async () => {
    const scene = setScene();
    await scene.acquire(UNANSWERED);
    expect(await scene.acquire(REFUSED)).toMatchObject({ mayBeGranted: true });
    expect(await scene.acquire(HELD)).toEqual(HELD);
    expect(await scene.acquire(REFUSED)).toMatchObject({ mayBeGranted: true });
  });

  test('a void grant behind an unanswered acquire ends the holder: both are given back', async () => {
    const scene = setScene();
    await scene.acquire(UNANSWERED);
    scene.decider.results.push(RELEASED, GONE);
    expect(await scene.acquire(VOID)).toMatchObject({ mayBeGranted: false });
    expect(await scene.acquire(REFUSED)).toMatchObject({ mayBeGranted: false });
    await scene.clock.advance(CALL_MS - 1);
    expect(scene.holders.size).toBe(1);
    await scene.clock.advance(3_000);
    expect([scene.holders.size, late.outcomes]).toEqual([0, ['released']]);
  });
});

describe('a release', () => {
  test('with an answer, of a hold granted at the first try, is sent once and leaves nothing', async () => {
    const scene = setScene();
    await scene.acquire(GRANTED);
    expect(await scene.holders.release(lock, RELEASE, CALL_MS)).toEqual(RELEASED);
    await scene.clock.advance(60_000);
    expect([count(scene), scene.holders.size, scene.timers.size, late.outcomes]).toEqual([1, 0, 0, []]);
  });

  test('without an answer is repeated at growing pauses until it is answered', async () => {
    const scene = setScene();
    scene.decider.results.push(FAILED);
    expect(await scene.holders.release(lock, RELEASE, CALL_MS)).toEqual(FAILED);
    await scene.clock.advance(5_000);
    const repeats = count(scene);
    expect(repeats).toBeGreaterThan(5);
    expect(repeats).toBeLessThan(20);
    scene.decider.results.splice(0, 1, GONE);
    await scene.clock.advance(5_000);
    expect([scene.holders.size, late.outcomes]).toEqual([0, ['gone']]);
  });

  test('that never is answered ends when the lease has certainly run out on the server', async () => {
    const scene = setScene();
    scene.decider.results.push(FAILED);
    await scene.holders.release(lock, RELEASE, CALL_MS);
    await scene.clock.advance(LEASE_MS + CALL_MS);
    expect(late.outcomes).toEqual([]);
    await scene.clock.advance(LEASE_MS * 0.01 + 2 + 1_000);
    expect([scene.holders.size, scene.timers.size, late.outcomes]).toEqual([0, 0, ['expired']]);
  });

  test.each([
    ['released', RELEASED],
    ['gone', GONE],
  ])('that says %s goes on while an unanswered acquire may arrive behind it', async (_, result) => {
    const scene = setScene();
    await scene.acquire(UNANSWERED);
    await scene.acquire(GRANTED);
    scene.decider.results.push(result, GONE);
    expect(await scene.holders.release(lock, RELEASE, CALL_MS)).toEqual(result);
    await scene.clock.advance(CALL_MS - 50);
    expect([scene.holders.size, late.outcomes]).toEqual([1, []]);
    await scene.clock.advance(2_000);
    expect([scene.holders.size, late.outcomes]).toEqual([0, ['gone']]);
  });

  test('is done with its answer once no unanswered acquire can arrive any more', async () => {
    const scene = setScene();
    await scene.acquire(UNANSWERED);
    await scene.acquire(GRANTED);
    await scene.clock.advance(CALL_MS);
    await scene.holders.release(lock, RELEASE, CALL_MS);
    expect([count(scene), scene.holders.size]).toEqual([1, 0]);
  });

  test('that fails looks for the grant and for each unanswered acquire', async () => {
    const scene = setScene();
    await scene.acquire(UNANSWERED);
    await scene.acquire(GRANTED);
    scene.decider.results.push(FAILED, RELEASED, GONE);
    await scene.holders.release(lock, RELEASE, CALL_MS);
    await scene.clock.settle();
    // One of the two was found. The other may be in a buffer.
    expect(scene.holders.size).toBe(1);
    await scene.clock.advance(3_000);
    expect([scene.holders.size, late.outcomes]).toEqual([0, ['released']]);
  });

  test('looks for a first acquire, which carried no time, as long as its lease would keep others out', async () => {
    const scene = setScene();
    await scene.acquire(UNBOUNDED);
    await scene.acquire(GRANTED);
    scene.decider.results.push(RELEASED, GONE);
    await scene.holders.release(lock, RELEASE, CALL_MS);
    await scene.clock.advance(LEASE_MS - 100);
    expect(scene.holders.size).toBe(1);
    await scene.clock.advance(2_000);
    expect(scene.holders.size).toBe(0);
  });
});

describe('a holder that is abandoned', () => {
  test('is released at once, and an answer is proof', async () => {
    const scene = setScene();
    await scene.acquire(GRANTED);
    scene.holders.abandon(lock, RELEASE);
    await scene.clock.settle();
    expect([count(scene), scene.holders.size, late.outcomes]).toEqual([1, 0, ['released']]);
  });

  test('with one unanswered acquire is done once that was seen released', async () => {
    const scene = setScene();
    await scene.acquire(UNANSWERED);
    scene.holders.abandon(lock, RELEASE);
    await scene.clock.settle();
    expect([count(scene), scene.holders.size, late.outcomes]).toEqual([1, 0, ['released']]);
  });

  test('with two unanswered acquires is not done with the first that was released', async () => {
    const scene = setScene();
    await scene.acquire(UNANSWERED);
    await scene.acquire(UNANSWERED);
    scene.decider.results.push(RELEASED, GONE);
    scene.holders.abandon(lock, RELEASE);
    await scene.clock.settle();
    expect(scene.holders.size).toBe(1);
    await scene.clock.advance(3_000);
    expect([scene.holders.size, late.outcomes]).toEqual([0, ['released']]);
  });

  test('is gone only by a release that was sent after the last acquire could arrive', async () => {
    const scene = setScene();
    await scene.acquire(UNANSWERED);
    scene.decider.results.push(GONE);
    scene.holders.abandon(lock, RELEASE);
    await scene.clock.advance(CALL_MS - 1);
    expect(scene.holders.size).toBe(1);
    await scene.clock.advance(2_000);
    expect([scene.holders.size, late.outcomes]).toEqual([0, ['gone']]);
  });

  test.each([
    ['is left alone when nothing of it can arrive', [GRANTED], 0],
    ['is cleaned up behind an unanswered acquire', [UNANSWERED, GRANTED], 1],
  ])('because the server calls it gone %s', async (_, decisions, open) => {
    const scene = setScene();
    for (const decision of decisions) await scene.acquire(decision);
    scene.decider.results.push(GONE);
    scene.holders.abandon(lock, RELEASE, true);
    await scene.clock.settle();
    expect([count(scene), scene.holders.size]).toEqual([open, open]);
  });

  test('counts the longest lease that was asked for it', async () => {
    const scene = setScene();
    scene.decider.decisions.push(UNANSWERED);
    await scene.holders.acquire(lock, { ...HOLD, leaseMs: 60_000 }, CALL_MS);
    scene.decider.results.push(FAILED);
    scene.holders.abandon(lock, RELEASE);
    await scene.clock.advance(60_000);
    expect(late.outcomes).toEqual([]);
    await scene.clock.advance(3_000);
    expect(late.outcomes).toEqual(['expired']);
  });

  test('twice is still looked for as long as either time asked', async () => {
    const scene = setScene();
    await scene.acquire(UNANSWERED);
    scene.decider.results.push(GONE);
    scene.holders.abandon(lock, RELEASE);
    scene.holders.abandon(lock, RELEASE);
    await scene.clock.advance(CALL_MS - 1);
    expect(scene.holders.size).toBe(1);
    await scene.clock.advance(2_000);
    expect([scene.holders.size, late.outcomes]).toEqual([0, ['gone']]);
  });
});

describe('a vote', () => {
  test('that was never asked for is not released where the node is away, nor abandoned', async () => {
    const scene = setScene(true);
    scene.decider.results.push(FAILED);
    expect(await scene.holders.release(lock, RELEASE, CALL_MS)).toEqual(FAILED);
    scene.holders.abandon(lock, RELEASE);
    await scene.clock.advance(5_000);
    expect([count(scene), scene.holders.size]).toEqual([1, 0]);
  });

  test('is wanted until it is given up, and not written again after that', async () => {
    const scene = setScene(true);
    let end = (_: Decision): void => {};
    const acquiring = scene.acquire(new Promise<Decision>((resolve) => (end = resolve)));
    expect(scene.decider.isWanted?.()).toBe(true);
    scene.holders.abandon(lock, RELEASE);
    expect(scene.decider.isWanted?.()).toBe(false);
    await scene.clock.settle();
    expect([count(scene), scene.holders.size]).toEqual([1, 0]);
    // Without an answer it may have been behind that release.
    scene.decider.results.push(GONE);
    end(UNANSWERED);
    await acquiring;
    await scene.clock.advance(CALL_MS - 1);
    expect(scene.holders.size).toBe(1);
    await scene.clock.advance(2_000);
    expect(scene.holders.size).toBe(0);
  });

  test('of a release that fails is released when the node is back, asked although it is thought to be down', async () => {
    const scene = setScene(true);
    await scene.acquire(GRANTED);
    scene.decider.results.push(FAILED, FAILED, RELEASED);
    await scene.holders.release(lock, RELEASE, CALL_MS);
    await scene.clock.advance(3_000);
    expect(scene.decider.releases.map(({ isRepeat }) => isRepeat)).toEqual([false, true, true]);
    expect([scene.holders.size, late.outcomes]).toEqual([0, ['released']]);
  });

  test('that comes behind its release is released quietly: it keeps nobody out', async () => {
    const scene = setScene(true);
    await scene.acquire(UNANSWERED);
    await scene.holders.release(lock, RELEASE, CALL_MS);
    await scene.clock.advance(3_000);
    expect(scene.decider.releases.map(({ isQuiet }) => isQuiet)).toEqual([undefined, true]);
    expect([scene.holders.size, late.outcomes]).toEqual([0, []]);
  });

  test('that the node calls gone need not be released, unless an acquire may arrive', async () => {
    const scene = setScene(true);
    await scene.acquire(GRANTED);
    scene.holders.noteGone(HOLD.holder);
    scene.holders.abandon(lock, RELEASE);
    expect(count(scene)).toBe(0);
    await scene.acquire(UNANSWERED);
    scene.holders.noteGone(HOLD.holder);
    scene.holders.abandon(lock, RELEASE);
    expect(count(scene)).toBe(1);
  });
});

describe('at the end', () => {
  test('a flush sends open releases once more and waits for them, though not for longer than a call', async () => {
    const scene = setScene();
    scene.decider.results.push(FAILED, FAILED, RELEASED);
    await scene.holders.release(lock, RELEASE, CALL_MS);
    await scene.clock.settle();
    await scene.holders.flush();
    expect([count(scene), scene.holders.size, late.outcomes]).toEqual([3, 0, ['released']]);
    scene.decider.release = () => new Promise(() => {});
    scene.holders.abandon(lock, RELEASE);
    let isOver = false;
    void scene.holders.flush().then(() => {
      isOver = true;
    });
    await scene.clock.advance(CALL_MS - 1);
    expect(isOver).toBe(false);
    await scene.clock.advance(1);
    expect(isOver).toBe(true);
  });

  test('a stop leaves everything to the leases: nothing is sent any more', async () => {
    const scene = setScene();
    scene.decider.results.push(FAILED);
    await scene.holders.release(lock, RELEASE, CALL_MS);
    scene.holders.stop();
    const sent = count(scene);
    scene.holders.abandon(lock, RELEASE);
    await scene.clock.advance(60_000);
    expect([count(scene), scene.holders.size, scene.timers.size, late.outcomes]).toEqual([sent, 0, 0, []]);
  });
});
