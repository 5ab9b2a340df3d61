/**
 * The client that our connections behind sentinels of node-redis are duplicates of. We cannot import node-redis, so we
 * take its client class from one short-lived connection, cached per package copy, because connecting a sentinel costs a
 * good part of a second. A copy of the package is known by the methods of its sentinels.
 */
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import { causesOf, reasonOf } from '../connection/reply-errors.ts';
import type { Address } from '../sentinel/address.ts';
import { type NodeRedis, type Options, socketOptionsOf } from './node-redis.ts';

/** What we use of a sentinel. */
export interface Sentinel {
  duplicate(override?: object): Sentinel;
  connect(): Promise<unknown>;
  destroy(): Promise<unknown>;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  /** Hands over a client of the primary. */
  _execute<Result>(isReadonly: boolean, fn: (client: NodeRedis) => Promise<Result>): Promise<Result>;
}

/**
 * How long a search may take: as long as the search for the primary that it is a part of. A sentinel of node-redis waits
 * for ever for an answer. Much of the time is our own process at work, and on a busy machine that takes seconds; a search
 * that is given up begins from nothing the next time.
 */
const SEARCH_MS_MAX = 4_000;

/** How the short-lived sentinels differ from the caller's: they give up at once, and keep nothing. */
const OPTIONS: Options = {
  maxCommandRediscovers: 0,
  masterPoolSize: 1,
  replicaPoolSize: 0,
  reserveClient: false,
  scanInterval: 0,
  passthroughClientErrorEvents: false,
  clientSideCache: undefined,
};

const SOCKET_OPTIONS: Options = {
  connectTimeout: SEARCH_MS_MAX,
  socketTimeout: SEARCH_MS_MAX,
  reconnectStrategy: false,
};

/**
 * How long a search runs alone before the next one of the same copy of the package may begin beside it. The first that
 * succeeds serves all; and each is hard work for a processor, so that many at once would all be too slow, and begin again.
 */
const HEAD_START_MS = 500;

const templates = new WeakMap<object, NodeRedis>();

/** Resolves when the next search may begin, for each copy of the package. */
const nextSearches = new WeakMap<object, Promise<void>>();

/** A client to make others from, once it has been found. */
export function templateOf(sentinel: Sentinel): NodeRedis | undefined {
  return templates.get(sentinel.duplicate);
}

/** Tries each sentinel address by a short-lived sentinel of its own, and takes the client class of the first that answers. */
export class TemplateSearch {
  readonly result: Promise<void>;
  readonly #sentinel: Sentinel;
  readonly #options: Options;
  readonly #timers: TimerQueue;
  readonly #aborts: AbortController[] = [];
  readonly #deadline = new Deadline(() => this.cancel(`no answer within ${SEARCH_MS_MAX} ms`), false);
  readonly #headStart = new Deadline(() => this.#letNext(), false);
  #letNext: () => void = () => {};
  #reject: (error: Error) => void = () => {};
  #isOver = false;
  #waiters = 0;

  constructor(sentinel: Sentinel, options: Options, roots: readonly Address[], timers: TimerQueue) {
    this.#sentinel = sentinel;
    this.#options = options;
    this.#timers = timers;
    const given = new Promise<never>((_, reject) => {
      this.#reject = reject;
    });
    this.result = Promise.race([this.#search(roots), given]).finally(() => this.cancel('it is over'));
    // All who joined may have left: a rejection that nobody handles would end the process.
    this.result.catch(() => {});
  }

  /** The search is given up once the signals of all who joined have aborted. */
  join(signal: AbortSignal): Promise<void> {
    this.#waiters += 1;
    const leave = (): void => {
      this.#waiters -= 1;
      if (this.#waiters === 0) this.cancel('nobody waits for it');
    };
    signal.addEventListener('abort', leave, { once: true });
    return this.result;
  }

  /** Ends the search. `destroy` of a sentinel would wait for an answer that is under way, so its sockets are aborted. */
  cancel(reason: string): void {
    this.#isOver = true;
    this.#timers.cancel(this.#deadline);
    this.#timers.cancel(this.#headStart);
    this.#letNext();
    this.#reject(new Error(reason));
    for (const abort of this.#aborts.splice(0)) abort.abort();
  }

  /** Searches wait for each other, up to `HEAD_START_MS`. */
  async #search(roots: readonly Address[]): Promise<void> {
    const { duplicate } = this.#sentinel;
    const mine = nextSearches.get(duplicate);
    const next = new Promise<void>((resolve) => {
      this.#letNext = resolve;
    });
    nextSearches.set(
      duplicate,
      Promise.resolve(mine).then(() => next),
    );
    await mine;
    if (this.#isOver || templateOf(this.#sentinel) !== undefined) return;
    this.#timers.setIn(this.#headStart, HEAD_START_MS);
    this.#timers.setIn(this.#deadline, SEARCH_MS_MAX);
    await Promise.any(roots.map((root) => this.#ask(root))).catch(throwJoined);
  }

  async #ask(root: Address): Promise<void> {
    const abort = new AbortController();
    this.#aborts.push(abort);
    const sentinel = this.#sentinel.duplicate({
      ...OPTIONS,
      sentinelRootNodes: [root],
      sentinelClientOptions: this.#limited('sentinelClientOptions', abort.signal),
      nodeClientOptions: this.#limited('nodeClientOptions', abort.signal),
    });
    // `connect` rejects with an error that says nothing; the reasons come as events.
    const reasons: unknown[] = [];
    sentinel.on('error', (error) => reasons.push(error));
    try {
      await sentinel.connect();
      const client = await sentinel._execute(false, async (one) => one);
      // Without options: those of this client are not for everybody.
      const ClientClass = Object.getPrototypeOf(client).constructor as new (options: object) => NodeRedis;
      templates.set(this.#sentinel.duplicate, new ClientClass({}));
    } catch (error) {
      throw new Error(`${root.host}:${root.port}: ${reasonOf(reasons.at(-1) ?? error)}`);
    } finally {
      sentinel.destroy().catch(() => {});
    }
  }

  #limited(name: string, signal: AbortSignal): Options {
    const own = this.#options[name];
    // Whatever the caller's sentinel was made with; it has accepted it.
    const options = typeof own === 'object' && own !== null ? (own as Options) : {};
    return { ...options, socket: { ...socketOptionsOf(options), ...SOCKET_OPTIONS, signal } };
  }
}

function throwJoined(error: unknown): never {
  throw new Error(causesOf(error).map(reasonOf).join('; '));
}
