/**
 * What is known of one of several servers.
 *
 * - `new`: never asked. Out: `joining`.
 * - `joining`: asked who it is and how long it runs; its vote does not count before that. Out: `up`, `down`.
 * - `up`: may vote, unless it has restarted too recently (the guard). Out: `joining` when its connection is another
 *   than the one it was asked on, because it may have restarted in between; `down` when a call gets no answer.
 * - `down`: skipped, so that it costs its callers nothing. Asked again, in the background, by whoever uses the lock
 *   next, after pauses that grow. Out: `joining`.
 */
import type { Client } from '../../clients/client.ts';
import type { ServerFailure } from '../../errors.ts';
import { Backoff } from '../../runtime/backoff.ts';
import { detached } from '../../runtime/detached.ts';
import { driftMs } from '../../runtime/instant.ts';
import { inMs } from '../../runtime/printable.ts';
import type { Random } from '../../runtime/random.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import type { NodeHealthMessage } from '../../telemetry/channels.ts';
import { telemetry } from '../../telemetry/publish.ts';
import type { Server } from '../server/server.ts';
import type { NodeTimeout } from './node-timeout.ts';

/** Servers tell their uptime in whole seconds of the clock, not of the run: it may be this much more than the truth. */
const UPTIME_ERROR_MS = 1_000;

/** `failure` is why the server was down; null: it was not, and its callers wait for it. */
export interface Joining {
  readonly is: 'joining';
  readonly joined: Promise<void>;
  readonly failure: ServerFailure | null;
}

type State =
  | { readonly is: 'new' }
  | Joining
  | { readonly is: 'up'; readonly connections: number; readonly startedMs: number; readonly runId: string }
  | { readonly is: 'down'; readonly failure: ServerFailure; readonly askAtMs: number };

export interface NodeHealthOptions {
  readonly callTimeoutMs: number;
  readonly random: Random;
}

/** There is no timer here: a session that is not used asks nobody anything. */
export class NodeHealth {
  readonly #client: Client;
  readonly #server: Server;
  readonly #timers: TimerQueue;
  readonly #timeout: NodeTimeout;
  readonly #callTimeoutMs: number;
  readonly #backoff: Backoff;
  #state: State = { is: 'new' };
  /** The guard that was last asked about. Null: nobody has asked for a vote. */
  #guardMs: number | null = null;
  /** What subscribers were told last. */
  #told: NodeHealthMessage['state'] | null = null;
  /** Called when the server is up again. */
  onUp: (() => void) | null = null;

  constructor(
    client: Client,
    server: Server,
    timers: TimerQueue,
    timeout: NodeTimeout,
    { callTimeoutMs, random }: NodeHealthOptions,
  ) {
    this.#client = client;
    this.#server = server;
    this.#timers = timers;
    this.#timeout = timeout;
    this.#callTimeoutMs = callTimeoutMs;
    this.#backoff = new Backoff(random);
  }

  get runId(): string | null {
    return this.#state.is === 'up' ? this.#state.runId : null;
  }

  get isUp(): boolean {
    const state = this.#state;
    return state.is === 'up' && this.#client.isConnected && state.connections === this.#client.connections;
  }

  /** Why the server cannot be asked now, or null. */
  get absence(): ServerFailure | null {
    const state = this.#state;
    if ((state.is === 'down' || state.is === 'joining') && state.failure !== null) return state.failure;
    return this.isUp ? null : this.#failure('unreachable', 'not connected yet');
  }

  /** Why the server cannot vote now, or null. `guardMs` is how long it must have run. */
  obstacle(guardMs: number, nowMs: number): ServerFailure | null {
    this.#guardMs = guardMs;
    const { absence } = this;
    if (absence !== null || this.#state.is !== 'up') return absence;
    const upMs = nowMs - this.#state.startedMs;
    const waitMs = guardMs === 0 ? 0 : guardMs + driftMs(guardMs) - upMs;
    this.#tell(waitMs <= 0 ? 'up' : 'guarded');
    if (waitMs <= 0) return null;
    const text = `may have started ${inMs(Math.max(0, upMs))} ago and forgotten a lease: it votes in ${inMs(Math.ceil(waitMs))}`;
    return this.#failure('guard', text);
  }

  /**
   * Null when it is known whether the server can be asked; otherwise that is being found out, from now on at the latest.
   * A server that is down is asked again when its pause is over, or now when it is needed.
   */
  join(isNeeded: boolean): Joining | null {
    if (this.isUp) return null;
    const state = this.#state;
    if (state.is === 'joining') return state;
    if (state.is !== 'down') return this.#begin(null);
    const isDue = isNeeded || this.#timers.clock.monotonicMs() >= state.askAtMs;
    return isDue ? this.#begin(state.failure) : null;
  }

  /** A call on that connection got no answer: the server is down, unless it has a new connection meanwhile. */
  missed(failure: ServerFailure, connections: number): void {
    if (this.#state.is === 'up' && this.#client.connections === connections) this.#fall(failure);
  }

  #fall(failure: ServerFailure): void {
    const askAtMs = this.#timers.clock.monotonicMs() + this.#backoff.nextMs();
    this.#state = { is: 'down', failure, askAtMs };
    this.#tell('down');
  }

  #begin(failure: ServerFailure | null): Joining {
    const joining: Joining = { is: 'joining', joined: this.#ask(), failure };
    this.#state = joining;
    return joining;
  }

  async #ask(): Promise<void> {
    const { clock } = this.#timers;
    const sentMs = clock.monotonicMs();
    const health = await this.#server.health(this.#callTimeoutMs);
    if ('kind' in health) return this.#fall(health);
    this.#backoff.reset();
    const heardMs = clock.monotonicMs();
    this.#timeout.guess(heardMs - sentMs);
    // The latest that the server can have started.
    const startedMs = heardMs - health.uptimeMs + UPTIME_ERROR_MS;
    this.#state = { is: 'up', connections: this.#client.connections, startedMs, runId: health.runId };
    this.onUp?.();
    // Looked at also where nobody asks for votes: a session may only renew. The first election tells whether this server may vote at all.
    if (this.#guardMs !== null) this.obstacle(this.#guardMs, heardMs);
  }

  /** In nobody's async context: the call that finds out about a server is one of many. */
  #tell(state: NodeHealthMessage['state']): void {
    if (this.#told === state) return;
    this.#told = state;
    detached(() => telemetry.nodeHealth(this.#client.description, state));
  }

  #failure(kind: ServerFailure['kind'], text: string): ServerFailure {
    return { server: this.#client.description, kind, text };
  }
}
