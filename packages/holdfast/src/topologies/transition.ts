/** Temporary: the old topologies behind the new seam. Counts unanswered acquires of each holder. */
import type { CallFailure, StopListening, Wake } from '../clients/client.ts';
import type { ServerFailure } from '../errors.ts';
import type { TimerQueue } from '../runtime/timer-queue.ts';
import type {
  Protocol as OldProtocol,
  Topology as OldTopology,
  QueryAnswer,
  QueryCall,
  RenewItem,
  Shards,
  Strays,
} from './old-topology.ts';
import { NO_STRAYS } from './old-topology.ts';
import type { Protocol, Statement } from './protocol.ts';
import type {
  AcquireResult,
  HoldTerms,
  ReleaseResult,
  ReleaseTerms,
  StateResult,
  Topology,
} from './topology.ts';

interface Unanswered extends Strays {
  readonly wasGranted: boolean;
}

const old = (protocol: Protocol): OldProtocol => protocol as unknown as OldProtocol;

export class Transition implements Topology {
  readonly shards?: Shards;
  readonly #old: OldTopology;
  readonly #timers: TimerQueue;
  readonly #callTimeoutMs: number;
  readonly #unanswered = new Map<string, Unanswered>();

  constructor(topology: OldTopology, timers: TimerQueue, callTimeoutMs: number) {
    if (topology.shards !== undefined) this.shards = topology.shards;
    this.#old = topology;
    this.#timers = timers;
    this.#callTimeoutMs = callTimeoutMs;
  }

  get description(): string {
    return this.#old.description;
  }

  get keyPrefix(): string {
    return this.#old.keyPrefix;
  }

  get hasAnswered(): boolean {
    return this.#old.hasAnswered;
  }

  get size(): number {
    return this.#old.size;
  }

  get majority(): number {
    return this.#old.majority;
  }

  /** For tests. */
  get openReleases(): number {
    return this.#old.lateReleases.size;
  }

  outageOf(key: string): readonly ServerFailure[] {
    return this.#old.outageOf(key);
  }

  async acquire(protocol: Protocol, terms: HoldTerms, timeoutMs: number): Promise<AcquireResult> {
    const { holder } = terms;
    const result = await this.#old.acquire(old(protocol), terms, timeoutMs);
    const known = this.#unanswered.get(holder);
    if (result.is === 'held' || result.is === 'conflict') return result;
    if (result.is === 'granted') {
      if (known !== undefined) this.#unanswered.set(holder, { ...known, wasGranted: true });
      return result;
    }
    const { servers } = result;
    const canRetry = result.is === 'unknown' || result.isPassing;
    const isTooLate = result.is === 'unknown' && servers.every(({ kind }) => kind === 'late');
    if (isTooLate || (result.is === 'refused' && result.wasGranted === true)) {
      this.#unanswered.delete(holder);
      const strays = known ?? NO_STRAYS;
      this.#old.lateReleases.add(old(protocol), terms, { ...strays, count: strays.count + 1 });
      return { is: 'failed', servers, canRetry, mayBeGranted: false };
    }
    if (result.is === 'unknown') this.#note(terms, result.isUnbounded === true);
    else if (!result.isCertain) this.#note(terms, false);
    return { is: 'failed', servers, canRetry, mayBeGranted: this.#unanswered.has(holder) };
  }

  #note({ holder, leaseMs }: HoldTerms, isUnbounded: boolean): void {
    const known = this.#unanswered.get(holder);
    const longestMs = Math.max(known?.leaseMs ?? 0, leaseMs);
    const lastsMs = isUnbounded ? Math.max(this.#callTimeoutMs, longestMs) : this.#callTimeoutMs;
    this.#unanswered.set(holder, {
      count: (known?.count ?? 0) + 1,
      untilMs: Math.max(known?.untilMs ?? 0, this.#timers.clock.monotonicMs() + lastsMs),
      leaseMs: longestMs,
      wasGranted: known?.wasGranted ?? false,
    });
  }

  async release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult> {
    const known = this.#take(terms.holder);
    const isOpen = this.#isOpen(known);
    const result = await this.#old.release(old(protocol), terms, timeoutMs);
    if (result.is === 'failed' || isOpen) this.#old.lateReleases.add(old(protocol), terms, known);
    return result;
  }

  abandon(protocol: Protocol, terms: ReleaseTerms, isGone = false): void {
    const known = this.#take(terms.holder);
    const isOpen = this.#isOpen(known);
    if (isGone && this.size === 1 && !isOpen) return;
    const count = (known?.count ?? 0) + (known?.wasGranted && !isGone ? 1 : 0);
    this.#old.lateReleases.add(old(protocol), terms, known && { ...known, count });
  }

  #take(holder: string): Unanswered | undefined {
    const known = this.#unanswered.get(holder);
    this.#unanswered.delete(holder);
    return known;
  }

  #isOpen(known: Unanswered | undefined): boolean {
    return known !== undefined && this.#timers.clock.monotonicMs() < known.untilMs;
  }

  async state(statements: readonly Statement[], timeoutMs: number): Promise<readonly StateResult[]> {
    const items = statements as readonly unknown[] as readonly (RenewItem & { count?: number })[];
    const [first] = items;
    if (first?.count === undefined) return this.#old.renew(items, timeoutMs);
    return [await this.#old.recount(first.protocol, first, first.count, timeoutMs)];
  }

  listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    return this.#old.listen(channel, wake, timeoutMs);
  }

  query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]> {
    return this.#old.query(callFor, timeoutMs);
  }

  flush(): Promise<void> {
    return this.#old.lateReleases.flush();
  }

  stop(): void {
    this.#old.lateReleases.stop();
  }

  close(): Promise<void> {
    return this.#old.close();
  }
}
