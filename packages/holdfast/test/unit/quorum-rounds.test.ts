/** How many rounds a fence takes on servers whose clocks a test sets: one when they give the same, otherwise two. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Client, ScriptCall } from '../../src/clients/client.ts';
import { Locks } from '../../src/index.ts';
import { EmbeddedNode } from '../../src/testing/index.ts';
import { FakeClock } from '../support/fake-clock.ts';

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
  readonly calls: ScriptCall[] = [];
  readonly #node: EmbeddedNode;

  constructor(clock: FakeClock, aheadMs: number) {
    this.time = new ServerTime(clock);
    this.time.aheadMs = aheadMs;
    this.#node = new EmbeddedNode({ clock: this.time });
  }

  client(): Client {
    const client = this.#node.client();
    const { run } = client;
    client.run = (call, timeoutMs) => {
      this.calls.push(call);
      return run.call(client, call, timeoutMs);
    };
    return client;
  }

  close(): Promise<void> {
    return this.#node.close();
  }
}

let end: () => Promise<void> = async () => {};
afterEach(() => end());

/** A session that knows its servers, whose clocks are ahead of each other by so much. */
async function setup(...aheadsMs: number[]): Promise<{ servers: Server[]; locks: Locks }> {
  const clock = new FakeClock();
  const servers = aheadsMs.map((aheadMs) => new Server(clock, aheadMs));
  const locks = new Locks(
    servers.map((server) => server.client()),
    { clock, restartGuardMs: 0 },
  );
  end = async () => {
    await locks.destroy();
    await Promise.all(servers.map((server) => server.close()));
  };
  await (await locks.lock('first').acquire()).release();
  return { servers, locks };
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
    expect(await take(locks, servers, 'name')).toEqual([first + 1, []]);
    expect(await take(locks, servers, 'name')).toEqual([first + 2, []]);
  });

  test('for a name in use when their clocks are ahead of what we have them for', async () => {
    const { servers, locks } = await setup(0, 0, 0);
    await take(locks, servers, 'name');
    for (const [i, { time }] of servers.entries()) time.aheadMs += 20 + i;
    const [, raised] = await take(locks, servers, 'name');
    expect(raised).toEqual([]);
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
