/** What the servers of a quorum are asked, and when again, where a real server cannot be made to say so. */
import { describe, expect, test } from 'vitest';
import {
  CallFailure,
  CLIENT,
  type Client,
  type Reply,
  type ScriptCall,
} from '../../../src/clients/client.ts';
import { CHANNELS, Locks, type NodeHealthMessage } from '../../../src/index.ts';
import { OUTCOMES } from '../../../src/scripts/outcome.ts';
import { useBench } from '../../support/bench.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const LEASE_MS = 1_000;
/** Of a server's answer, by that lease. */
const LIMIT_MS = 5;

const bench = useBench();

class FakeServer implements Client {
  readonly [CLIENT] = true as const;
  readonly description: string;
  readonly keyPrefix = '';
  connections = 1;
  readonly asked: string[] = [];
  readonly #clock: FakeClock;
  /** Happens while the next acquire is written, before the server gets it. */
  onAcquire: (() => void) | null = null;
  isBroken = false;
  /** Says nothing any more. */
  isFrozen = false;
  /** How much longer than its limit a call takes to end, as when this process stands still. */
  stallMs = 0;
  /** How long it takes to say who it is. */
  healthMs = 0;
  /** How long it has run. */
  uptimeMs = 100_000_000;

  constructor(clock: FakeClock, name: string) {
    this.#clock = clock;
    this.description = name;
  }

  get isConnected(): boolean {
    if (this.isBroken) throw new Error('a client that throws');
    return true;
  }

  async run({ script, args }: ScriptCall, timeoutMs: number): Promise<Reply | CallFailure> {
    this.asked.push(script.name);
    if (this.isFrozen) {
      await this.#sleep(timeoutMs + this.stallMs);
      return new CallFailure('unknown', `no answer within ${timeoutMs} ms`);
    }
    if (script.name === 'admin.health') {
      if (this.healthMs > 0) await this.#sleep(this.healthMs);
      return [
        OUTCOMES.FOUND,
        '7.0',
        'master',
        '0',
        'noeviction',
        `${this.uptimeMs / 1000}`,
        this.description,
        this.#clock.wallMs(),
      ];
    }
    if (script.name === 'mutex.release') return 0;
    const happens = this.onAcquire;
    this.onAcquire = null;
    happens?.();
    const nowMs = this.#clock.wallMs();
    const notAfterMs = Number(args[2]);
    return notAfterMs > 0 && nowMs > notAfterMs ? [OUTCOMES.LATE, nowMs] : nowMs;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.startTimer(ms, resolve));
  }

  async listen(): Promise<() => void> {
    return () => {};
  }

  async close(): Promise<void> {}
}

function setup(): { clock: FakeClock; servers: FakeServer[]; locks: Locks } {
  const clock = new FakeClock();
  const servers = ['a', 'b', 'c'].map((name) => new FakeServer(clock, name));
  const options = { application: false, clock, leaseMs: LEASE_MS, callTimeoutMs: 300 } as const;
  return { clock, servers, locks: new Locks(servers, options) };
}

describe('a process that stands still while it asks the servers', () => {
  test.each([1, LIMIT_MS, LIMIT_MS + 1, LIMIT_MS + 3, LIMIT_MS + 4, LIMIT_MS + 6, LIMIT_MS * 4])(
    'for %d ms gets the lock all the same',
    async (pauseMs) => {
      const { clock, servers, locks } = setup();
      await (await locks.mutex('m').acquire()).release();
      const [first] = servers;
      if (first !== undefined) first.onAcquire = () => clock.advanceSync(pauseMs);
      const lease = await locks.mutex('m').tryAcquire();
      expect(lease?.isHeld).toBe(true);
      await lease?.release();
      await locks.destroy();
    },
  );
});

describe('the health of a server', () => {
  test('is told when it changes: up, down, and up again', async () => {
    const { clock, servers, locks } = setup();
    const told = bench.diagnostics<NodeHealthMessage>(CHANNELS.nodeHealth);
    await (await locks.mutex('m').acquire()).release();
    await (await locks.mutex('m').acquire()).release();
    expect(told).toEqual(['a', 'b', 'c'].map((server) => ({ server, state: 'up' })));
    const [first] = servers as [FakeServer];
    first.isFrozen = true;
    const lease = await locks.mutex('m').acquire();
    await clock.advance(300);
    await lease.release();
    expect(told.slice(3)).toEqual([{ server: 'a', state: 'down' }]);
    first.isFrozen = false;
    await clock.advance(5_000);
    await (await locks.mutex('m').acquire()).release();
    await clock.advance(100);
    await (await locks.mutex('m').acquire()).release();
    expect(told.slice(4)).toEqual([{ server: 'a', state: 'up' }]);
    await locks.destroy();
  });

  test('is guarded while a server has not run for as long as the longest lease', async () => {
    const { clock, servers, locks } = setup();
    const told = bench.diagnostics<NodeHealthMessage>(CHANNELS.nodeHealth);
    const [first] = servers as [FakeServer];
    first.uptimeMs = 1_000;
    await (await locks.mutex('m').acquire()).release();
    expect(told.find(({ server }) => server === 'a')).toEqual({ server: 'a', state: 'guarded' });
    await clock.advance(5_000);
    await (await locks.mutex('m').acquire()).release();
    expect(told.filter(({ server }) => server === 'a').map(({ state }) => state)).toEqual(['guarded', 'up']);
    await locks.destroy();
  });
});

describe('a look at a lock, or a release by force, that nobody could read the answer to', () => {
  test.each([
    ['inspect', 'admin.inspect', 2],
    // What took effect already would be taken from the next owner.
    ['forceRelease', 'admin.force-release-lock', 1],
  ] as const)('of %s: %s is asked %d times', async (verb, script, times) => {
    const { clock, servers, locks } = setup();
    await (await locks.mutex('m').acquire()).release();
    for (const server of servers) Object.assign(server, { isFrozen: true, stallMs: 20 });
    const failed = locks[verb]('m').catch((error: unknown) => error);
    await clock.advance(1_000);
    expect(await failed).toMatchObject({ code: 'ELOCKUNKNOWN' });
    for (const { asked } of servers)
      expect(asked.filter((name) => name.startsWith(script))).toHaveLength(times);
    await locks.destroy();
  });
});

describe('a server that says nothing', () => {
  test('costs one deadline, is not asked for votes after it, and is looked for until it is back', async () => {
    const { clock, servers, locks } = setup();
    const [first] = servers;
    await (await locks.mutex('m').acquire()).release();
    if (first === undefined) return;
    first.isFrozen = true;
    await (await locks.mutex('m').acquire()).release();
    await clock.advance(LIMIT_MS * 2);
    first.asked.length = 0;
    for (let i = 0; i < 20; i += 1) {
      await (await locks.mutex('m').acquire()).release();
      await clock.advance(300);
    }
    // The vote of the first time is taken back, in case it was given.
    expect(new Set(first.asked)).toEqual(new Set(['admin.health', 'mutex.release']));
    first.isFrozen = false;
    await clock.advance(60_000);
    await (await locks.mutex('m').acquire()).release();
    await clock.settle();
    await (await locks.mutex('m').acquire()).release();
    expect(first.asked.slice(-2)).toEqual(['mutex.acquire', 'mutex.release']);
    await locks.destroy();
  });
});

describe('a server that is asked who it is', () => {
  test.each([
    ['has its moment at a first use, and votes', 20, ['admin.health', 'mutex.acquire', 'mutex.release']],
    ['is not waited for once that is over', 80, ['admin.health']],
  ])('%s', async (_, healthMs, asked) => {
    const { clock, servers, locks } = setup();
    const [first] = servers;
    if (first === undefined) return;
    first.healthMs = healthMs;
    const acquiring = locks.mutex('m').acquire();
    await clock.advance(60);
    await (await acquiring).release();
    expect(first.asked).toEqual(asked);
    await clock.advance(1_000);
    await locks.destroy();
  });

  test('is asked again on a new connection, before its vote counts', async () => {
    const { servers, locks } = setup();
    const [first] = servers;
    await (await locks.mutex('m').acquire()).release();
    if (first === undefined) return;
    first.asked.length = 0;
    first.connections += 1;
    await (await locks.mutex('m').acquire()).release();
    expect(first.asked).toEqual(['admin.health', 'mutex.acquire', 'mutex.release']);
    await locks.destroy();
  });
});

describe('a client of the caller’s own making that throws', () => {
  test('is a server that is away: the others decide, and it is asked again once it is in order', async () => {
    const { servers, locks } = setup();
    await (await locks.mutex('m').acquire()).release();
    const [first] = servers;
    if (first === undefined) return;
    first.isBroken = true;
    await (await locks.mutex('m').acquire()).release();
    first.isBroken = false;
    first.asked.length = 0;
    await (await locks.mutex('m').acquire()).release();
    expect(first.asked).toContain('mutex.acquire');
    await locks.destroy();
  });
});

describe('of five servers', () => {
  function five(nodeTimeoutMs: number): { clock: FakeClock; servers: FakeServer[]; locks: Locks } {
    const clock = new FakeClock();
    const servers = ['a', 'b', 'c', 'd', 'e'].map((name) => new FakeServer(clock, name));
    return { clock, servers, locks: new Locks(servers, { application: false, clock, nodeTimeoutMs }) };
  }

  test.each([1_000, 600])('three that hang end a wait of %d ms within their own deadline', async (waitMs) => {
    const nodeTimeoutMs = 300;
    const { clock, servers, locks } = five(nodeTimeoutMs);
    await (await locks.mutex('m').acquire()).release();
    for (const server of servers.slice(0, 3)) server.isFrozen = true;
    let endedMs = Number.NaN;
    const beganMs = clock.monotonicMs();
    const error = locks
      .mutex('m')
      .acquire({ waitMs })
      .catch((reason: unknown) => {
        endedMs = clock.monotonicMs() - beganMs;
        return reason;
      });
    await clock.advance(waitMs + nodeTimeoutMs);
    expect(await error).toMatchObject({ code: 'ELOCKUNAVAILABLE' });
    expect(endedMs).toBeGreaterThanOrEqual(waitMs - 1);
    expect(endedMs).toBeLessThanOrEqual(waitMs + nodeTimeoutMs);
    await locks.destroy();
  });

  test('one that hangs from the start costs the first caller a moment, and the next ones nothing', async () => {
    const { clock, servers, locks } = five(5_000);
    const [first] = servers;
    if (first === undefined) return;
    first.isFrozen = true;
    const acquiring = locks.mutex('m').acquire();
    await clock.advance(60);
    await (await acquiring).release();
    const beforeMs = clock.monotonicMs();
    for (let i = 0; i < 10; i += 1) await (await locks.mutex('m').acquire()).release();
    expect(clock.monotonicMs()).toBe(beforeMs);
    await locks.destroy();
  });
});
