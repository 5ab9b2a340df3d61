/**
 * Fails a test that leaves something behind: an error nobody handled, an open socket or a running timer, a key,
 * a subscription. Then empties the servers for the next test.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach } from 'vitest';
import { ask, askAll, asStrings } from './servers/raw-redis.ts';
import type { RedisServer } from './servers/redis-server.ts';
import { RespError } from './servers/resp.ts';
import { TimerWatch } from './timer-watch.ts';

export interface LeakOptions {
  /** Keys that may stay. @default the counters of fences, which outlive their locks by design */
  readonly ignoreKeys?: readonly RegExp[];
  /** False for a file whose tests share something that opens connections as they go. @default true */
  readonly checksHandles?: boolean;
}

const FENCE_COUNTERS = /redisson_lock_token:/;
/** A line that nobody waits in stays for up to 20 s, as the memory of how guests were served. */
const LINES = /holdfast_line:/;
/** The record of a session that was killed or destroyed expires within a minute. One without an expiry is a leak. */
const RECORDS = /^holdfast_session:/;
/** The words for an owner that lost its lock by force expire with its lease. Words without an expiry are a leak. */
const WORDS = /^holdfast_revoked:/;
/**
 * Sockets take a few turns of the event loop to go. The number of looks counts beside the time, because on a
 * busy machine a single look may take all of it.
 */
const SETTLE_LIMIT_MS = 1_000;
const SETTLE_POLLS_MIN = 20;
const SETTLE_POLL_MS = 5;

/** What we open. Others, such as immediates and file requests, come and go with the test runner. */
const OUR_HANDLES = ['TCPSocketWrap', 'TCPServerWrap', 'TCPConnectWrap', 'ProcessWrap'];

type HandleCounts = ReadonlyMap<string, number>;

/** Looks at one test. Begin before it; ask for the leaks after it. */
export class LeakWatch {
  readonly #servers: readonly RedisServer[];
  readonly #ignoreKeys: readonly RegExp[];
  readonly #checksHandles: boolean;
  readonly #errors: unknown[] = [];
  readonly #timers = new TimerWatch();
  /** Subscriptions by port that are not this test's: shared ones, or a leak that was told already. */
  readonly #channelsBefore = new Map<number, readonly string[]>();
  #handlesBefore: HandleCounts = new Map();

  constructor(servers: readonly RedisServer[], options: LeakOptions = {}) {
    this.#servers = servers;
    this.#ignoreKeys = options.ignoreKeys ?? [FENCE_COUNTERS];
    this.#checksHandles = options.checksHandles ?? true;
  }

  async begin(): Promise<void> {
    // What the last test closed goes within a turn or two; counted now it would hide a leak of this one.
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    this.#errors.length = 0;
    if (this.#checksHandles) this.#timers.begin();
    this.#handlesBefore = countHandles();
    this.#channelsBefore.clear();
    for (const { port } of this.#reachable()) this.#channelsBefore.set(port, await listChannels(port));
    process.on('unhandledRejection', this.#record);
    process.on('uncaughtExceptionMonitor', this.#record);
  }

  /** What is left behind, in words, once it had a moment to go away. */
  async leaks(): Promise<string[]> {
    const deadline = performance.now() + SETTLE_LIMIT_MS;
    for (let polls = 1; ; polls += 1) {
      // Also gives a rejection the turn it needs to be reported as unhandled.
      await sleep(SETTLE_POLL_MS);
      const leaks = [...this.#handleLeaks(), ...(await this.#serverLeaks())];
      const mayWait = performance.now() < deadline || polls < SETTLE_POLLS_MIN;
      if (this.#errors.length === 0 && leaks.length > 0 && mayWait) continue;
      return [...this.#errors.map((error) => `an error nobody handled: ${describe(error)}`), ...leaks];
    }
  }

  /** Stops listening for errors and empties the servers. */
  async end(): Promise<void> {
    process.off('unhandledRejection', this.#record);
    process.off('uncaughtExceptionMonitor', this.#record);
    this.#timers.end();
    await Promise.all(this.#reachable().map(({ port }) => ask(port, ['FLUSHALL', 'SYNC'])));
  }

  readonly #record = (error: unknown): void => {
    this.#errors.push(error);
  };

  #handleLeaks(): string[] {
    if (!this.#checksHandles) return [];
    const handles = [...countHandles()].flatMap(([name, count]) => {
      const more = count - (this.#handlesBefore.get(name) ?? 0);
      return more > 0 ? [`${more} more ${name} than before the test`] : [];
    });
    return [...handles, ...this.#timers.running().map((where) => `a running timer, armed ${where}`)];
  }

  async #serverLeaks(): Promise<string[]> {
    const leaks = await Promise.all(this.#reachable().map(({ port }) => this.#leaksOn(port)));
    return leaks.flat();
  }

  async #leaksOn(port: number): Promise<string[]> {
    const found = (await listKeys(port)).filter(
      (key) => !this.#ignoreKeys.some((ignore) => ignore.test(key)),
    );
    const isLeft = await Promise.all(found.map((key) => isLeftBehind(port, key)));
    const keys = found.filter((_, index) => isLeft[index]);
    const before = this.#channelsBefore.get(port) ?? [];
    const channels = (await listChannels(port)).filter((channel) => !before.includes(channel));
    return [
      ...keys.map((key) => `a key on port ${port}: ${key}`),
      ...channels.map((channel) => `a subscription on port ${port}: ${channel}`),
    ];
  }

  /** A server that the test killed has no keys to look at; a frozen one is woken. */
  #reachable(): RedisServer[] {
    for (const server of this.#servers) if (server.isFrozen) server.resume();
    return this.#servers.filter((server) => server.isRunning);
  }
}

/**
 * Watches every test of a file. Call it before other hooks are registered: hooks after a test run in the
 * opposite order, so that what they close is closed when the check looks.
 */
export function useLeakCheck(
  servers: RedisServer | readonly RedisServer[] = [],
  options: LeakOptions = {},
): void {
  const watch = new LeakWatch([servers].flat(), options);
  beforeEach(() => watch.begin());
  afterEach(async ({ task }) => {
    // A test that failed half-way leaves much behind, and has told its reason.
    const leaks = task.result?.state === 'fail' ? [] : await watch.leaks();
    await watch.end();
    if (leaks.length > 0) throw new Error(`the test left behind:\n- ${leaks.join('\n- ')}`);
  });
}

function countHandles(): HandleCounts {
  const counts = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) {
    if (OUR_HANDLES.includes(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

async function listKeys(port: number): Promise<string[]> {
  const keyspace = String(await ask(port, ['INFO', 'keyspace']));
  const databases = [...keyspace.matchAll(/^db(\d+):/gm)].map(([, database = '0']) => database);
  const replies = await askAll(
    port,
    databases.flatMap((database) => [
      ['SELECT', database],
      ['KEYS', '*'],
    ]),
  );
  return replies.filter((_, index) => index % 2 === 1).flatMap(asStrings);
}

async function isLeftBehind(port: number, key: string): Promise<boolean> {
  if (LINES.test(key)) return hasTickets(port, key);
  return RECORDS.test(key) || WORDS.test(key) ? !(await expires(port, key)) : true;
}

/** Whether the key has an expiry in whichever database it is, or has gone meanwhile. */
async function expires(port: number, key: string): Promise<boolean> {
  return Number(await ask(port, ['PTTL', key])) !== -1;
}

async function hasTickets(port: number, key: string): Promise<boolean> {
  const fields = asStrings(await ask(port, ['HKEYS', key]));
  return fields.some((field) => field.startsWith('#'));
}

async function listChannels(port: number): Promise<string[]> {
  const questions = [
    ['PUBSUB', 'CHANNELS'],
    ['PUBSUB', 'SHARDCHANNELS'],
  ];
  const replies = await askAll(port, questions);
  // Servers before 7.0 do not know the second question.
  return replies.filter((reply) => !(reply instanceof RespError)).flatMap(asStrings);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
