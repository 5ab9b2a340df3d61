/** Processes that are killed at random moments, most of them while they hold the lock or wait for it. */

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Extent, rowsOf, upTo } from '../../support/extent.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { expectGrowing } from '../../support/locks/fences.ts';
import { useChildren } from '../../support/processes/child.ts';
import { seeded } from '../../support/seeded.ts';
import { ask, askAll } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { RespError } from '../../support/servers/resp.ts';
import { waitFor } from '../../support/wait-for.ts';
import { CLIENT_KINDS } from '../children/store.ts';
import { START_LIMIT_MS } from '../limits.ts';
import { type Counting, finished, readTally, startCounting } from './counting-processes.ts';
import { type CounterTask, LOCK_NAME, LOG } from './task.ts';

const PROCESSES = 4;
const CALLERS = 25;
interface Case extends Extent {
  readonly guard: 'lock' | 'mutex';
}

const CASES = rowsOf<Case>([{ guard: 'lock' }, { guard: 'mutex', isMatrix: true }]);
const KILLS_MIN = upTo(3, 6);
/** A kill that hits the holder is the one that matters; one in four does. */
const KILLS_OF_HOLDER_MIN = 1;
/** More than this and something else is wrong. */
const KILLS_MAX = 40;
const INCREMENTS_MIN = upTo(500, 2_000);
/**
 * Between the last look at its lease and the write a process may stand still, and nothing but the fence would tell: the
 * lease is longer than that.
 */
const LEASE_MS_MIN = 4_500;
const LEASE_MS_MAX = 5_500;
/** Between two kills: from the first hand-over to several changes of process. */
const PAUSE_MS_MAX = 400;
const LIMIT_MS = 240_000;
/** Changes which process is killed and when; the rest is up to the machine. */
const SEED = Number(process.env['HOLDFAST_SEED'] ?? 1);

const redis = useRedis();
// Those who are killed leave their tickets: the line is gone 20 s after the last ask.
useLeakCheck(redis, { ignoreKeys: [/^redisson_lock_token:/, /^holdfast_line:/, /^counter$/, /^log$/] });
useChildren();

const increments = async (): Promise<number> => Number(await ask(redis.port, ['LLEN', LOG]));

/** Processes that count, of which one after the other is killed and replaced. */
class KilledProcesses {
  readonly #guard: CounterTask['guard'];
  readonly #fraction = seeded(SEED);
  readonly #running: Counting[] = [];
  #started = 0;
  kills = 0;
  killsOfHolder = 0;

  constructor(guard: CounterTask['guard']) {
    this.#guard = guard;
  }

  async start(): Promise<void> {
    const client = CLIENT_KINDS[this.#started % CLIENT_KINDS.length] ?? 'ioredis';
    this.#started += 1;
    const leaseMs = Math.round(LEASE_MS_MIN + this.#fraction() * (LEASE_MS_MAX - LEASE_MS_MIN));
    const { port } = redis;
    const counting = await startCounting({
      port,
      client,
      guard: this.#guard,
      callers: CALLERS,
      increments: null,
      handovers: null,
      leaseMs,
    });
    counting.child.send('go');
    this.#running.push(counting);
  }

  /** Kills one at a random moment, and puts another in its place. */
  async killOne(): Promise<void> {
    await sleep(this.#fraction() * PAUSE_MS_MAX);
    const [victim] = this.#running.splice(Math.floor(this.#fraction() * this.#running.length), 1);
    await victim?.child.kill('SIGKILL');
    this.kills += 1;
    if (await isHeldByTheDead()) this.killsOfHolder += 1;
    await this.start();
  }

  /** Lets the others come to an end, and gives what went wrong. */
  async end(): Promise<string[]> {
    for (const { child } of this.#running) child.send('stop');
    await Promise.all(this.#running.map(({ child }) => finished(child, LIMIT_MS)));
    return this.#running.flatMap(({ child }) => child.lines.flatMap(({ trouble = [] }) => trouble));
  }
}

/** Who holds it now, and for how long; a holder or a token. */
async function look(): Promise<{ owner: string; leftMs: number }> {
  const questions = [
    ['PTTL', LOCK_NAME],
    ['HKEYS', LOCK_NAME],
    ['GET', LOCK_NAME],
  ];
  const [leftMs, ...owners] = await askAll(redis.port, questions);
  const owner = owners.filter((reply) => !(reply instanceof RespError)).join();
  return { owner, leftMs: Number(leftMs) };
}

/** A live holder passes it on or renews it at a third of its lease; a dead one lets it run down. */
async function isHeldByTheDead(): Promise<boolean> {
  const { owner } = await look();
  const verdict = await waitFor(
    async () => {
      const now = await look();
      if (now.owner !== owner || owner === '') return 'alive';
      return now.leftMs < LEASE_MS_MIN / 3 && 'dead';
    },
    { limitMs: LIMIT_MS, what: 'the lock to change hands or run down' },
  );
  return verdict === 'dead';
}

describe(`processes that are killed at random (HOLDFAST_SEED=${SEED})`, {
  timeout: LIMIT_MS + START_LIMIT_MS,
}, () => {
  test('lose updates without a lock', async () => {
    const processes = new KilledProcesses('none');
    await Promise.all([processes.start(), processes.start()]);
    await processes.killOne();
    await waitFor(async () => (await increments()) >= INCREMENTS_MIN, { limitMs: LIMIT_MS });
    await processes.end();
    const { counter, log } = await readTally(redis.port);
    expect(counter).toBeLessThan(log.length);
  });

  test.each(CASES)('lose nothing under a $guard', async ({ guard }) => {
    const processes = new KilledProcesses(guard);
    await Promise.all(Array.from({ length: PROCESSES }, () => processes.start()));
    while (processes.kills < KILLS_MIN || processes.killsOfHolder < KILLS_OF_HOLDER_MIN) {
      await processes.killOne();
      expect(processes.kills).toBeLessThan(KILLS_MAX);
    }
    await waitFor(async () => (await increments()) >= INCREMENTS_MIN, { limitMs: LIMIT_MS });
    const trouble = await processes.end();
    const { counter, log } = await readTally(redis.port);
    expect(counter).toBe(log.length);
    if (guard === 'lock') expectGrowing(log);
    expect(trouble).toEqual([]);
  });
});
