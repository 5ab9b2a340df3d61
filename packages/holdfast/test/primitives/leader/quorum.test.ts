/** A leader whose lock is held by a majority of three servers, on a clock that the test moves. */
import { EmbeddedNode, ManualClock } from 'holdfast-testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Locks } from '../../../src/locks.ts';
import { START_MS } from '../schedule/world.ts';
import { Terms } from './terms.ts';
import { untilAborted } from './until-aborted.ts';

const KEY = 'holdfast_leader:{boss}';
/** Servers that have run for less do not vote: see restartGuardMs. */
const GUARD_MS = 60_000;

class Quorum {
  readonly clock: ManualClock = new ManualClock(START_MS);
  readonly nodes: readonly EmbeddedNode[] = [1, 2, 3].map(() => new EmbeddedNode({ clock: this.clock }));

  static async open(): Promise<Quorum> {
    const quorum = new Quorum();
    // The Lua of a node is loaded in real time: nothing may wait for it on the clock of the test.
    await Promise.all(quorum.nodes.map((node) => node.command('PING')));
    await quorum.clock.advance(GUARD_MS);
    onTestFinished(async () => void (await Promise.all(quorum.nodes.map((node) => node.close()))));
    return quorum;
  }

  replica(): Locks {
    const locks = new Locks(
      this.nodes.map((node) => node.client()),
      { application: false, clock: this.clock, leaseMs: 6_000 },
    );
    onTestFinished(() => locks.destroy());
    return locks;
  }

  /** On how many servers somebody leads. */
  async votes(): Promise<number> {
    const found = await Promise.all(this.nodes.map((node) => node.command('EXISTS', KEY)));
    return found.filter((each) => each === 1).length;
  }
}

describe('a leader on a quorum', () => {
  test('is elected by a majority, hands over in under a second on abort and on close, and the next has a larger fence', async () => {
    const quorum = await Quorum.open();
    const watcher = quorum.replica().leader('boss');
    expect(await watcher.current()).toBeNull();
    const terms = new Terms();
    const replicas = [0, 1, 2].map((who) => {
      const locks = quorum.replica();
      const leader = locks.leader('boss');
      const stop = new AbortController();
      void leader.run(terms.bodyOf(who), { signal: stop.signal });
      return { locks, leader, stop };
    });
    await quorum.clock.advance(10_000);
    for (let turn = 1; turn <= 3; turn += 1) {
      expect(terms.all).toHaveLength(turn);
      const { who, fence } = terms.all.at(-1) ?? { who: -1, fence: 0 };
      expect(replicas.map(({ leader }) => leader.isLeader)).toEqual([0, 1, 2].map((each) => each === who));
      expect(await quorum.votes()).toBeGreaterThanOrEqual(2);
      const now = await watcher.current();
      expect(now).toMatchObject({ session: replicas[who]?.locks.session, isMe: false });
      expect(now?.fence).toBeGreaterThanOrEqual(fence);
      expect(await replicas[who]?.leader.current()).toMatchObject({ isMe: true });
      const ending = turn === 1 ? replicas[who]?.stop.abort() : replicas[who]?.locks.close();
      await quorum.clock.advance(900);
      await ending;
    }
    terms.expectTurnOfEach(3);
    expect(await quorum.votes()).toBe(0);
    expect(await watcher.current()).toBeNull();
  });

  test('leads on while one server of three is away, and a majority without it elects the next', async () => {
    const quorum = await Quorum.open();
    const [first, second] = [quorum.replica(), quorum.replica()] as const;
    const leaders = [first, second].map((locks) => locks.leader('boss'));
    const lost: number[] = [];
    for (const [who, leader] of leaders.entries()) {
      leader.on('lost', () => lost.push(who));
      void leader.run(({ signal }) => untilAborted(signal));
      await quorum.clock.advance(1_000);
    }
    quorum.nodes[2]?.pause();
    await quorum.clock.advance(30_000);
    expect(leaders.map(({ isLeader }) => isLeader)).toEqual([true, false]);
    const closed = first.close();
    await quorum.clock.advance(10_000);
    await closed;
    expect(leaders.map(({ isLeader }) => isLeader)).toEqual([false, true]);
    expect(lost).toEqual([]);
    quorum.nodes[2]?.resume();
  });

  test('is told within its lease when two of three servers are away', async () => {
    const quorum = await Quorum.open();
    const leader = quorum.replica().leader('boss');
    let lostMs = Number.NaN;
    leader.on('lost', () => {
      lostMs = quorum.clock.monotonicMs();
    });
    void leader.run(({ signal }) => untilAborted(signal));
    await quorum.clock.advance(1_000);
    expect(leader.isLeader).toBe(true);
    const awayMs = quorum.clock.monotonicMs();
    for (const node of quorum.nodes.slice(1)) node.pause();
    await quorum.clock.advance(7_000);
    expect(leader.isLeader).toBe(false);
    expect(lostMs - awayMs).toBeLessThan(6_000);
    for (const node of quorum.nodes) node.resume();
    await quorum.clock.advance(20_000);
    expect(leader.isLeader).toBe(true);
  });
});
