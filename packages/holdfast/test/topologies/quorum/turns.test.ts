/**
 * By quorum there is no line of waiters. A process far away from the servers gets its turns beside a near one all the same:
 * the near one pauses after its releases, for longer each time. By a clock of the test's own.
 */
import { EmbeddedNode, ManualClock } from 'holdfast-testing';
import { afterEach, expect, test } from 'vitest';
import {
  type CallFailure,
  CLIENT,
  type Client,
  type StopListening,
  type Wake,
} from '../../../src/clients/client.ts';
import { Locks } from '../../../src/index.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import type { Reply, ScriptCall } from '../../../src/scripts/script-call.ts';
import { seeded } from '../../support/seeded.ts';

const SERVERS = 3;
/** Each way. */
const NEAR_MS = 0.5;
const FAR_MS = 10;
/** A question of the far process that follows a release arrives in the middle of the next section, and not by luck at its end. */
const SECTION_MS = 100;
const TURNS = 20;
/**
 * The near process has about five turns for each of the far one: its pause grows from 2 ms until the far one comes first.
 * If the pause does not grow, the far one has hardly any.
 */
const NEAR_TURNS_MAX = 10 * TURNS;
const LIMIT_MS = 120_000;
/** Long after the last section. */
const END_MS = 10_000;

/** A node that is some way off: what is asked, what is answered and what is told take that long. */
class DistantClient implements Client {
  readonly [CLIENT] = true as const;
  readonly keyPrefix = '';
  readonly #clock: ManualClock;
  readonly #node: Client;
  readonly #latencyMs: number;

  constructor(clock: ManualClock, node: EmbeddedNode, latencyMs: number) {
    this.#clock = clock;
    this.#node = node.client();
    this.#latencyMs = latencyMs;
  }

  get description(): string {
    return this.#node.description;
  }

  get isConnected(): boolean {
    return this.#node.isConnected;
  }

  get connections(): number {
    return this.#node.connections;
  }

  run(call: ScriptCall, timeoutMs: number): Promise<Reply | CallFailure> {
    return this.#thereAndBack(() => this.#node.run(call, timeoutMs));
  }

  listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    const later: Wake = (message) => void this.#clock.startTimer(this.#latencyMs, () => wake(message));
    return this.#thereAndBack(() => this.#node.listen(channel, later, timeoutMs));
  }

  close(): Promise<void> {
    return this.#node.close();
  }

  async #thereAndBack<Result>(ask: () => Promise<Result>): Promise<Result> {
    await travel(this.#clock, this.#latencyMs);
    const result = await ask();
    await travel(this.#clock, this.#latencyMs);
    return result;
  }
}

function travel(clock: ManualClock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.startTimer(ms, resolve));
}

const cleanUps: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function startNodes(clock: ManualClock): Promise<EmbeddedNode[]> {
  const nodes = Array.from({ length: SERVERS }, () => new EmbeddedNode({ clock }));
  for (const node of nodes) await node.command('PING');
  return nodes;
}

test('beside a near process that is never done, a far one gets its turns by quorum', async () => {
  const clock = new ManualClock();
  const nodes = await startNodes(clock);
  const random = { ...systemRandom, fraction: seeded(1) };
  const session = (latencyMs: number): Locks => {
    const clients = nodes.map((node) => new DistantClient(clock, node, latencyMs));
    return new Locks(clients, { application: false, clock, random, restartGuardMs: 0 });
  };
  const [near, far] = [session(NEAR_MS), session(FAR_MS)];
  cleanUps.push(async () => {
    await Promise.all([near.destroy(), far.destroy()]);
    for (const node of nodes) await node.close();
  });
  const turns = { near: 0, far: 0 };
  let isOver = false;
  const takeTurns = async (who: 'near' | 'far', locks: Locks): Promise<void> => {
    while (!isOver) {
      const lease = await locks.lock('a').acquire();
      turns[who] += 1;
      await travel(clock, SECTION_MS);
      await lease.release();
    }
  };
  const taking = Promise.all([takeTurns('near', near), takeTurns('far', far)]);
  while (turns.far < TURNS && turns.near < NEAR_TURNS_MAX && clock.monotonicMs() < LIMIT_MS)
    await clock.advance(SECTION_MS);
  const farTurns = turns.far;
  isOver = true;
  await clock.advance(END_MS);
  await taking;
  expect(farTurns, `beside ${turns.near} of the near one`).toBeGreaterThanOrEqual(TURNS);
});
