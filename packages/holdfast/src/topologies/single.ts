/** One server decides: a standalone Redis or Valkey, or the primary that the client itself finds. */
import type { CallFailure, Client, ReplicaTerms, StopListening, Wake } from '../clients/client.ts';
import type { ServerFailure } from '../errors.ts';
import { sessionChannel } from '../keys/name.ts';
import type { TimerQueue } from '../runtime/timer-queue.ts';
import { OneDecider } from './one-decider.ts';
import type { Protocol } from './protocol.ts';
import { serverFor } from './server/confirmed.ts';
import type { HoldersOptions } from './server/holders.ts';
import type { Server } from './server/server.ts';
import type { Mailbox } from './topology.ts';

export interface SingleOptions extends HoldersOptions {
  /** How many replicas of the server must have a lock before it counts; null: none. */
  readonly replicas: ReplicaTerms | null;
}

export class SingleTopology extends OneDecider {
  readonly #client: Client;
  readonly #server: Server;
  #mailbox: Mailbox | null = null;

  constructor(client: Client, timers: TimerQueue, options: SingleOptions) {
    const server = serverFor(client, timers.clock, options.replicas);
    super(timers, server, options);
    this.#client = client;
    this.#server = server;
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

  listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    return this.#client.listen(channel, wake, timeoutMs);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
