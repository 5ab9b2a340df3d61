/**
 * A sentinel of node-redis makes clients of its servers, and none of ours can be made without one of that kind: the
 * package is its owner's to import. So one is taken from a sentinel, once for each copy of the package, which is known by
 * its methods: making a sentinel connect costs a good part of a second.
 */
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import { reasonOf, reasonsIn } from '../connection/reply-errors.ts';
import type { Address } from '../sentinel/search.ts';
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
 * How long it may take: as long as the search for the primary that it is a part of. A sentinel of the package waits for
 * ever for an answer. Much of the time is our own process at work, and on a busy machine that takes seconds; whoever is
 * given up before it is done begins from nothing the next time.
 */
const LEARN_MS_MAX = 4_000;

/** How the ones that are connected for a moment differ: they give up at once, and keep nothing. */
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
  connectTimeout: LEARN_MS_MAX,
  socketTimeout: LEARN_MS_MAX,
  reconnectStrategy: false,
};

/**
 * A search gets so long before the next one of the same copy of the package may begin beside it. The first that ends well
 * serves all; and each is hard work for a processor, so that many at once would all be too slow, and begin again.
 */
const HEAD_START_MS = 500;

const patterns = new WeakMap<object, NodeRedis>();

/** When the next search may begin, for each copy of the package. */
const turns = new WeakMap<object, Promise<void>>();

/** A client to make others from, when there is one. */
export function patternOf(sentinel: Sentinel): NodeRedis | undefined {
  return patterns.get(sentinel.duplicate);
}

/** Each sentinel is asked by one of its own, which lives for a moment, and the first that answers will do. */
export class KindSearch {
  readonly result: Promise<void>;
  readonly #sentinel: Sentinel;
  readonly #options: Options;
  readonly #timers: TimerQueue;
  readonly #aborts: AbortController[] = [];
  readonly #deadline = new Deadline(() => this.cancel(`no answer within ${LEARN_MS_MAX} ms`), false);
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
    // Whoever has waited for it may have gone.
    this.result.catch(() => {});
  }

  /** Gives it up when none of those who have joined is waiting any more. */
  join(signal: AbortSignal): Promise<void> {
    this.#waiters += 1;
    const leave = (): void => {
      this.#waiters -= 1;
      if (this.#waiters === 0) this.cancel('nobody waits for it');
    };
    signal.addEventListener('abort', leave, { once: true });
    return this.result;
  }

  /** Ends what is under way. A sentinel that is told to go waits for its answer, so its sockets are taken from it. */
  cancel(reason: string): void {
    this.#isOver = true;
    this.#timers.cancel(this.#deadline);
    this.#timers.cancel(this.#headStart);
    this.#letNext();
    this.#reject(new Error(reason));
    for (const abort of this.#aborts.splice(0)) abort.abort();
  }

  /** One after the other, for as long as that helps. */
  async #search(roots: readonly Address[]): Promise<void> {
    const { duplicate } = this.#sentinel;
    const mine = turns.get(duplicate);
    const next = new Promise<void>((resolve) => {
      this.#letNext = resolve;
    });
    turns.set(
      duplicate,
      Promise.resolve(mine).then(() => next),
    );
    await mine;
    if (this.#isOver || patternOf(this.#sentinel) !== undefined) return;
    this.#timers.setIn(this.#headStart, HEAD_START_MS);
    this.#timers.setIn(this.#deadline, LEARN_MS_MAX);
    await Promise.any(roots.map((root) => this.#ask(root))).catch(joinReasons);
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
    // It rejects with a word of its own; the reasons are told here.
    const reasons: unknown[] = [];
    sentinel.on('error', (error) => reasons.push(error));
    try {
      await sentinel.connect();
      const client = await sentinel._execute(false, async (one) => one);
      // Of the same kind, and with no options: those of this one are not for everybody.
      const Kind = Object.getPrototypeOf(client).constructor as new (options: object) => NodeRedis;
      patterns.set(this.#sentinel.duplicate, new Kind({}));
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

function joinReasons(error: unknown): never {
  throw new Error(reasonsIn(error).map(reasonOf).join('; '));
}
