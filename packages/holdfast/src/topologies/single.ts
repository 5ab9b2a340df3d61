/** One server decides: a standalone Redis or Valkey, or the primary that the client itself finds. */
import type { CallFailure, Client, ReplicaTerms, StopListening, Wake } from '../clients/client.ts';
import type { ServerFailure } from '../errors.ts';
import { sessionChannel } from '../keys/name.ts';
import type { TimerQueue } from '../runtime/timer-queue.ts';
import type { HoldTerms, Protocol, Statement } from './protocol.ts';
import { serverFor } from './server/confirmed.ts';
import { Holders, type HoldersOptions } from './server/holders.ts';
import type { Server } from './server/server.ts';
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

export interface SingleOptions extends HoldersOptions {
  /** How many replicas of the server must have a lock before it counts; null: none. */
  readonly replicas: ReplicaTerms | null;
}

export class SingleTopology implements Topology {
  readonly size = 1;
  readonly majority = 1;
  readonly hasLine = true;
  readonly holders: Holders;
  readonly #client: Client;
  readonly #server: Server;
  #mailbox: Mailbox | null = null;

  constructor(client: Client, timers: TimerQueue, options: SingleOptions) {
    this.#client = client;
    this.#server = serverFor(client, timers.clock, options.replicas);
    this.holders = new Holders(timers, this.#server, options);
  }

  get description(): string {
    return this.#client.description;
  }

  get keyPrefix(): string {
    return this.#client.keyPrefix;
  }

  get hasAnswered(): boolean {
    return this.#server.hasAnswered;
  }

  outageOf(): readonly ServerFailure[] {
    return this.#server.outage;
  }

  /** One channel for all names: its listeners are counted where the message is published. */
  mailboxOf(_protocol: Protocol, session: string): Mailbox {
    this.#mailbox ??= { channel: sessionChannel(session), mode: 'p' };
    return this.#mailbox;
  }

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
    return this.#server.state(statements, timeoutMs);
  }

  listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    return this.#client.listen(channel, wake, timeoutMs);
  }

  query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]> {
    return this.#server.query(callFor, timeoutMs);
  }

  flush(): Promise<void> {
    return this.holders.flush();
  }

  stop(): void {
    this.holders.stop();
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
