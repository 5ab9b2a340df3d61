/** One of several independent servers: its health, its clock, what it is asked and what it may still hold for us. */
import type { CallFailure, Client, StopListening, Wake } from '../../clients/client.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import { Holders } from '../server/holders.ts';
import { Server } from '../server/server.ts';
import { ServerClock } from '../server/server-clock.ts';
import { NodeHealth, type NodeHealthOptions } from './node-health.ts';
import { NodeTimeout } from './node-timeout.ts';
import { TimedServer } from './timed-server.ts';

export interface QuorumOptions extends NodeHealthOptions {
  readonly leaseMs: number;
  /** The deadline of one server's answer; null: by the lease and by how fast it is. */
  readonly nodeTimeoutMs: number | null;
  /** How long a server must have run before it votes; null: the longest lease in use. */
  readonly restartGuardMs: number | null;
}

/** How old what we know of a server's clock may get: all servers are told one time, which must be near theirs. */
const SAMPLE_MS_MAX = 1_000;

export class QuorumNode {
  /** Whether the server can be asked, and its vote counts. */
  readonly health: NodeHealth;
  readonly clock: ServerClock = new ServerClock(SAMPLE_MS_MAX);
  readonly server: TimedServer;
  /** Votes: acquired, released and abandoned here. */
  readonly votes: Holders;
  readonly #client: Client;

  constructor(client: Client, timers: TimerQueue, options: QuorumOptions) {
    this.#client = client;
    const server = new Server(client, timers.clock, { serverClock: this.clock, hasLine: false });
    const timeout = new NodeTimeout(options.nodeTimeoutMs);
    this.health = new NodeHealth(client, server, timers, timeout, options);
    this.server = new TimedServer(client, server, timers.clock, this.health, timeout);
    this.votes = new Holders(timers, this.server, options, true);
  }

  get description(): string {
    return this.#client.description;
  }

  get isConnected(): boolean {
    return this.#client.isConnected;
  }

  listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    return this.#client.listen(channel, wake, timeoutMs);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
