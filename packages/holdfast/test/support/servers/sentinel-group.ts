/** Three sentinels that watch a primary and two replicas, all of them real processes. */
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { waitFor } from '../wait-for.ts';
import { ask, asStrings } from './raw-redis.ts';
import { RedisServer, stopAllRedis } from './redis-server.ts';
import { ReplicatedServers, roleOf } from './replicated-servers.ts';
import { RespError } from './resp.ts';

const NAME = 'primary';
const SENTINELS = 3;
const QUORUM = 2;

/** After how long without an answer a sentinel takes a server for dead: longer than this machine stalls. */
const DOWN_AFTER_MS = 1_500;
/** For tests in which none dies. */
export const NEVER_DOWN_MS = 60_000;

/** How long one that leads a failover may take before another one tries. */
const FAILOVER_TIMEOUT_MS = 3_000;

/**
 * One that was asked for is given up, for good, if it takes longer than that: on a machine that stalls it may. It is
 * over by now, one way or the other, and can be asked for again.
 */
export const TRY_LIMIT_MS: number = 4 * FAILOVER_TIMEOUT_MS;

/** Sentinels find each other, and the replicas, by messages that they send every other second. */
const SETTLE_LIMIT_MS = 90_000;

export class SentinelGroup {
  readonly name: string = NAME;
  readonly group = new ReplicatedServers();
  readonly #downAfterMs: number;
  #sentinels: RedisServer[] = [];

  constructor(downAfterMs: number = DOWN_AFTER_MS) {
    this.#downAfterMs = downAfterMs;
  }

  get servers(): readonly RedisServer[] {
    return this.group.servers;
  }

  get sentinels(): readonly RedisServer[] {
    return this.#sentinels;
  }

  /** Where the sentinels are, as the clients want it. */
  get addresses(): { host: string; port: number }[] {
    return this.#sentinels.map(({ port }) => ({ host: '127.0.0.1', port }));
  }

  async start(): Promise<void> {
    await this.group.start();
    const sentinel = [
      `sentinel monitor ${NAME} 127.0.0.1 ${this.group.first.port} ${QUORUM}`,
      `sentinel down-after-milliseconds ${NAME} ${this.#downAfterMs}`,
      `sentinel failover-timeout ${NAME} ${FAILOVER_TIMEOUT_MS}`,
    ];
    this.#sentinels = Array.from({ length: SENTINELS }, () => new RedisServer({ sentinel }));
    await Promise.all(this.#sentinels.map((server) => server.start()));
    await this.untilSettled();
  }

  /** The server that most sentinels call the primary. */
  async primary(): Promise<RedisServer> {
    const ports = await Promise.all(this.#sentinels.filter(({ isRunning }) => isRunning).map(namedPort));
    const [port] = ports.sort((a, b) => count(ports, b) - count(ports, a));
    const server = this.servers.find((one) => one.port === port);
    if (server === undefined) throw new Error(`the sentinels name port ${port}, which none of ours has`);
    return server;
  }

  /** Every server is up and in its place, and every sentinel sees it. */
  async restore(): Promise<void> {
    await Promise.all(this.#sentinels.map((sentinel) => sentinel.ensureUp()));
    await Promise.all(this.servers.map((server) => server.ensureUp()));
    await this.group.gather(await this.#untilPrimary());
    await this.untilSettled();
  }

  /** Lets another one take over in an orderly way, and waits until it has. */
  async failOver(): Promise<RedisServer> {
    const before = await this.primary();
    return waitFor(
      async () => {
        if ((await this.primary()) === before) await this.beginFailOver();
        return this.untilAnother(before, TRY_LIMIT_MS);
      },
      { what: 'a failover that is brought to its end', limitMs: SETTLE_LIMIT_MS },
    );
  }

  /** Gives the sentinel that leads it. */
  async beginFailOver(): Promise<RedisServer> {
    return waitFor(
      async () => {
        const leader = this.#anySentinel;
        const reply = await ask(leader.port, ['SENTINEL', 'FAILOVER', NAME]);
        // Refused while a failover is under way, or no replica is good yet.
        if (reply instanceof RespError) throw new Error(reply.text);
        return leader;
      },
      { what: 'the sentinels to begin a failover', limitMs: SETTLE_LIMIT_MS },
    );
  }

  /** Waits until the sentinels name another primary than this one, and that is one. */
  async untilAnother(before: RedisServer, limitMs = SETTLE_LIMIT_MS): Promise<RedisServer> {
    return waitFor(
      async () => {
        const primary = await this.primary();
        return primary !== before && (await roleOf(primary)) === 'master' && primary;
      },
      { what: 'another primary', limitMs },
    );
  }

  async untilSettled(): Promise<void> {
    const replicas = this.servers.length - 1;
    const isSettled = async ({ port }: RedisServer): Promise<boolean> => {
      const reply = asStrings(await ask(port, ['SENTINEL', 'MASTER', NAME]));
      const state = new Map(reply.map((field, i) => [field, reply[i + 1]]));
      const others = Number(state.get('num-other-sentinels'));
      return (
        state.get('flags') === 'master' && others === SENTINELS - 1 && (await goodReplicas(port)) === replicas
      );
    };
    await waitFor(async () => (await Promise.all(this.#sentinels.map(isSettled))).every(Boolean), {
      what: 'the sentinels to see every server and each other',
      limitMs: SETTLE_LIMIT_MS,
    });
  }

  get #anySentinel(): RedisServer {
    const sentinel = this.#sentinels.find(({ isRunning, isFrozen }) => isRunning && !isFrozen);
    if (sentinel === undefined) throw new Error('no sentinel is running');
    return sentinel;
  }

  /** One that is up: a killed one is replaced by another first. */
  #untilPrimary(): Promise<RedisServer> {
    return waitFor(
      async () => {
        const primary = await this.primary();
        return (await roleOf(primary)) === 'master' && primary;
      },
      { what: 'a primary that is one', limitMs: SETTLE_LIMIT_MS },
    );
  }
}

/** Which port a sentinel says that the primary has. */
export async function namedPort({ port }: RedisServer): Promise<number> {
  return Number(asStrings(await ask(port, ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME]))[1]);
}

async function goodReplicas(port: number): Promise<number> {
  const replicas = await ask(port, ['SENTINEL', 'REPLICAS', NAME]);
  if (!Array.isArray(replicas)) return 0;
  const flags = replicas.map((replica) => {
    const fields = asStrings(replica);
    return fields[fields.indexOf('flags') + 1];
  });
  return flags.filter((flag) => flag === 'slave').length;
}

function count(ports: readonly number[], port: number): number {
  return ports.filter((other) => other === port).length;
}

/** Several of those, one after the other. */
const HOOK_LIMIT_MS = 2 * SETTLE_LIMIT_MS;

/** One group for a test file. Each test finds it whole, whatever the one before did to it. */
export function useSentinels(): SentinelGroup {
  const group = new SentinelGroup();
  beforeAll(() => group.start(), HOOK_LIMIT_MS);
  beforeEach(() => group.restore(), HOOK_LIMIT_MS);
  afterAll(stopAllRedis);
  return group;
}
