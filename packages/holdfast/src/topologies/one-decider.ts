/** What `single` and `cluster` have in common: for each name one decider answers, and every call about a hold goes to it. */
import type { CallFailure, StopListening, Wake } from '../clients/client.ts';
import type { ServerFailure } from '../errors.ts';
import type { TimerQueue } from '../runtime/timer-queue.ts';
import type { HoldTerms, Protocol, Statement } from './protocol.ts';
import type { Decider } from './server/decision.ts';
import { Holders, type HoldersOptions } from './server/holders.ts';
import type {
  AcquireResult,
  Mailbox,
  QueryAnswer,
  QueryCall,
  ReleaseResult,
  ReleaseTerms,
  StateResult,
  Topology,
} from './topology.ts';

type Answering = Decider & Pick<Topology, 'state' | 'query'>;

export abstract class OneDecider implements Topology {
  readonly size = 1;
  readonly majority = 1;
  readonly hasLine = true;
  readonly holders: Holders;
  readonly #decider: Answering;

  constructor(timers: TimerQueue, decider: Answering, options: HoldersOptions) {
    this.#decider = decider;
    this.holders = new Holders(timers, decider, options);
  }

  abstract get description(): string;
  abstract get keyPrefix(): string;
  abstract get hasAnswered(): boolean;
  abstract outageOf(key: string): readonly ServerFailure[];
  abstract mailboxOf(protocol: Protocol, session: string): Mailbox;
  abstract listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure>;
  abstract close(): Promise<void>;

  acquire(protocol: Protocol, terms: HoldTerms, timeoutMs: number): Promise<AcquireResult> {
    return this.holders.acquire(protocol, terms, timeoutMs);
  }

  release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult> {
    return this.holders.release(protocol, terms, timeoutMs);
  }

  abandon(protocol: Protocol, terms: ReleaseTerms, isGone?: boolean): void {
    this.holders.abandon(protocol, terms, isGone);
  }

  state(statements: readonly Statement[], timeoutMs: number): Promise<readonly StateResult[]> {
    return this.#decider.state(statements, timeoutMs);
  }

  query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]> {
    return this.#decider.query(callFor, timeoutMs);
  }

  flush(): Promise<void> {
    return this.holders.flush();
  }

  stop(): void {
    this.holders.stop();
  }
}
