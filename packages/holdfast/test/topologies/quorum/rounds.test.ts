/** The rounds that a fence takes on servers whose clocks a test sets: one when they give the same, otherwise two. */

import { EmbeddedNode } from 'holdfast-testing';
import { afterEach, describe, expect, test } from 'vitest';
import type { Client, ScriptCall } from '../../../src/clients/client.ts';
import { type FencedLease, Locks } from '../../../src/index.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { gate } from '../../support/gate.ts';
import { waitFor } from '../../support/wait-for.ts';

const HOUR_MS = 3_600_000;

/** A clock of its own for each server: the one clock of the test, and so much more. */
class ServerTime extends FakeClock {
  readonly #clock: FakeClock;
  aheadMs = 0;

  constructor(clock: FakeClock) {
    super();
    this.#clock = clock;
  }

  override wallMs(): number {
    return this.#clock.wallMs() + this.aheadMs;
  }
}

class Server {
  readonly time: ServerTime;
  readonly node: EmbeddedNode;
  readonly calls: ScriptCall[] = [];
  /** Those of them that it has run. */
  readonly served: ScriptCall[] = [];
  /** What is on its way to it for longer: calls of that session of these scripts, until the promise resolves. */
  slow: { session: number; scripts: readonly string[]; until: Promise<void> } | null = null;

  constructor(clock: FakeClock, aheadMs: number) {
    this.time = new ServerTime(clock);
    this.time.aheadMs = aheadMs;
    this.node = new EmbeddedNode({ clock: this.time });
  }

  client(session: number): Client {
    const client = this.node.client();
    const { run } = client;
    client.run = async (call, timeoutMs) => {
      this.calls.push(call);
      const { slow } = this;
      if (slow?.session === session && slow.scripts.includes(call.script.name)) await slow.until;
      const reply = await run.call(client, call, timeoutMs);
      this.served.push(call);
      return reply;
    };
    return client;
  }
}

let end: () => Promise<void> = async () => {};
afterEach(() => end());

/** Two sessions that know their servers, whose clocks are ahead of each other by so much. */
async function setup(...aheadsMs: number[]): Promise<{
  clock: FakeClock;
  servers: Server[];
  locks: Locks;
  others: Locks;
}> {
  const clock = new FakeClock();
  const servers = aheadsMs.map((aheadMs) => new Server(clock, aheadMs));
  const open = (session: number): Locks => {
    const clients = servers.map((server) => server.client(session));
    return new Locks(clients, { application: false, clock, restartGuardMs: 0 });
  };
  const [locks, others] = [open(0), open(1)];
  end = async () => {
    await Promise.all([locks.destroy(), others.destroy()]);
    await Promise.all(servers.map(({ node }) => node.close()));
  };
  for (const session of [locks, others]) await (await session.lock('first').acquire()).release();
  return { clock, servers, locks, others };
}

/** The fence of a name, and the places of the servers that were asked to raise theirs. */
async function take(locks: Locks, servers: readonly Server[], name: string): Promise<[number, number[]]> {
  for (const { calls } of servers) calls.length = 0;
  const lease = await locks.lock(name).acquire();
  await lease.release();
  const raised = servers.flatMap(({ calls }, i) =>
    calls.some(({ script }) => script.name === 'lock.raise') ? [i] : [],
  );
  return [lease.fence, raised];
}

describe('a fence takes one round', () => {
  test('for a name that no server knows, from a time just ahead of all clocks', async () => {
    const { servers, locks } = await setup(0, 1.5, 1);
    const [fence, raised] = await take(locks, servers, 'new');
    expect(raised).toEqual([]);
    const latestUs = Math.max(...servers.map(({ time }) => time.wallMs())) * 1_000;
    expect(fence).toBeGreaterThanOrEqual(latestUs);
    expect(fence).toBeLessThanOrEqual(latestUs + 2_000);
  });

  test('and again for one that they know, however quickly it is asked for', async () => {
    const { servers, locks } = await setup(0, 1.5, 1);
    const [first] = await take(locks, servers, 'name');
    // A lone caller reserves 64 for those who may come.
    expect(await take(locks, servers, 'name')).toEqual([first + 65, []]);
    expect(await take(locks, servers, 'name')).toEqual([first + 130, []]);
  });

  test('for a name in use when their clocks are ahead of what we have them for', async () => {
    const { servers, locks } = await setup(0, 0, 0);
    await take(locks, servers, 'name');
    for (const [i, { time }] of servers.entries()) time.aheadMs += 10 + i;
    const [, raised] = await take(locks, servers, 'name');
    expect(raised).toEqual([]);
  });

  test('each time for two sessions of five servers that take turns, while time passes', async () => {
    const { clock, servers, locks, others } = await setup(0, 1.5, 1, 0.5, 2);
    const fences: number[] = [];
    for (let i = 0; i < 20; i += 1) {
      const [fence, raised] = await take(i % 2 === 0 ? locks : others, servers, 'name');
      expect(raised).toEqual([]);
      fences.push(fence);
      await clock.advance(7 * i);
    }
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
  });

  test('when the clock of a minority is far off, and it is not the first to answer', async () => {
    const { servers, locks } = await setup(0, 0, HOUR_MS);
    const [fence, raised] = await take(locks, servers, 'new');
    expect(raised).toEqual([]);
    expect(fence).toBeLessThan(((servers[0]?.time.wallMs() ?? 0) + 10) * 1_000);
  });
});

describe('a fence takes two rounds', () => {
  test('for a new name when their clocks are ahead of what we have them for, until they have told us', async () => {
    const { servers, locks } = await setup(0, 0, 0);
    for (const [i, { time }] of servers.entries()) time.aheadMs += 20 + i;
    // The second server has given the larger one of two that decide; the third has not answered yet.
    const [fence, raised] = await take(locks, servers, 'one');
    expect(raised).toEqual([0, 2]);
    expect(Math.floor(fence / 1_000)).toBe(servers[1]?.time.wallMs());
    // This one asks for their time, and the one after it knows.
    expect((await take(locks, servers, 'two'))[1]).toEqual([0, 2]);
    expect((await take(locks, servers, 'three'))[1]).toEqual([]);
  });

  test('when a server that decides has been further, and the others are raised to it', async () => {
    const { servers, locks } = await setup(HOUR_MS, 0, 0);
    const [fence, raised] = await take(locks, servers, 'new');
    expect(Math.floor(fence / 1_000)).toBe(servers[0]?.time.wallMs());
    expect(raised).toEqual([1, 2]);
  });
});

/** Lets time pass until it is there: who has lost an election tries again after a while. */
async function passing<Result>(clock: FakeClock, work: Promise<Result>): Promise<Result> {
  let isOver = false;
  const watched = work.finally(() => {
    isOver = true;
  });
  for (let i = 0; i < 1_000 && !isOver; i += 1) await clock.advance(1);
  return watched;
}

describe('a fence is nobody else’s', () => {
  test('when one of its votes comes after another owner has come and gone', async () => {
    const { clock, servers, locks, others } = await setup(0, 0, 0);
    const [a, b, c] = servers as [Server, Server, Server];
    const key = 'redisson_lock_token:{name}';
    const start = (a.time.wallMs() + HOUR_MS) * 1_000;
    for (const server of [a, c]) await server.node.command('SET', key, `${start}`);
    await b.node.command('SET', key, `${start - 500}`);
    const { opened: until, open: arrive } = gate();
    b.slow = { session: 0, scripts: ['lock.raise'], until };
    c.slow = { session: 0, scripts: ['lock.acquire', 'lock.raise'], until };
    for (const { calls } of servers) calls.length = 0;
    const acquiring = locks.lock('name').acquire();
    await waitFor(() => b.calls.some(({ script }) => script.name === 'lock.raise'));
    // An operator, or an eviction: one of the two votes is lost.
    await b.node.command('DEL', 'name');
    const second = await others.lock('name').acquire();
    expect(second.fence).toBe(start + 1);
    await second.release();
    arrive();
    const first = await passing(clock, acquiring);
    expect(first.fence).toBeGreaterThan(second.fence);
    await first.release();
  });
});

describe('after the grant every server that voted has the fence', () => {
  const counterKey = 'redisson_lock_token:{name}';
  const counterOf = async ({ node }: Server): Promise<number> =>
    Number(await node.command('GET', counterKey));

  /** Clocks of 0, +60 and -90 ms, and an owner by the first two: the third server's vote comes behind the decision. */
  async function firstOwner(scripts: readonly string[]): Promise<{
    servers: [Server, Server, Server];
    others: Locks;
    lease: FencedLease;
    arrive: () => void;
  }> {
    const { servers, locks, others } = await setup(0, 60, -90);
    const [a, b, c] = servers as [Server, Server, Server];
    const { opened: until, open: arrive } = gate();
    c.slow = { session: 0, scripts, until };
    const lease = await locks.lock('name').acquire();
    expect(Math.floor(lease.fence / 1_000)).toBe(b.time.wallMs());
    return { servers: [a, b, c], others, lease, arrive };
  }

  test('so that the next owner’s is larger although the server that both decided on lost its data', async () => {
    const { servers, others, lease, arrive } = await firstOwner(['lock.acquire']);
    const [a, b, c] = servers;
    await lease.release();
    arrive();
    await waitFor(async () => (await counterOf(c)) >= lease.fence, { what: 'the third server to be raised' });
    const isVote = ({ script, keys }: ScriptCall): boolean =>
      script.name === 'lock.acquire' && keys[0] === 'name';
    await waitFor(() => c.served.some(isVote), { what: 'the vote that comes behind the release' });
    // It is undone in time; here no time passes.
    await c.node.command('DEL', 'name');
    await a.node.command('FLUSHALL');
    await b.node.close();
    const next = await others.lock('name').acquire();
    expect(next.fence).toBeGreaterThan(lease.fence);
    await next.release();
  });

  test('and where a majority gave the same, the one that gave less is raised behind its owner’s back', async () => {
    const { clock, servers, locks } = await setup(0, 0, 0);
    const [, , c] = servers as [Server, Server, Server];
    const start = clock.wallMs() * 1_000 + 50_000;
    for (const { node } of servers) await node.command('SET', counterKey, `${start}`);
    await c.node.command('SET', counterKey, `${start - 500}`);
    const { opened: until, open: arrive } = gate();
    c.slow = { session: 0, scripts: ['lock.raise'], until };
    const lease = await locks.lock('name').acquire();
    expect(lease.fence).toBe(start + 1);
    await waitFor(() => c.calls.some(({ script }) => script.name === 'lock.raise'), { what: 'the raise' });
    expect(await counterOf(c)).toBeLessThan(lease.fence);
    arrive();
    await waitFor(async () => (await counterOf(c)) === lease.fence, {
      what: 'the third server to be raised',
    });
    await lease.release();
  });

  test('unless it was not asked: then the loss of the shared server’s counter can lower the next', async () => {
    const { servers, others, lease } = await firstOwner(['lock.acquire', 'lock.raise']);
    const [a, b] = servers;
    await lease.release();
    // Its vote and its raise are still on their way: as a server that was away at the time.
    await a.node.command('FLUSHALL');
    await b.node.close();
    const next = await others.lock('name').acquire();
    expect(next.fence).toBeLessThan(lease.fence);
    await next.release();
  });
});
