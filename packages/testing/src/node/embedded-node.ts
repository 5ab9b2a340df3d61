/**
 * A Redis server inside the process, for tests and demonstrations. It runs the scripts that a real server would be sent,
 * with real Lua. It has the commands that locks and their clients use, and refuses all others.
 *
 * It is not a database: nothing is written to disk, no memory limit is kept, and a slow script stops the process.
 *
 * In this folder: the node and the two ways in: a client inside the process and a TCP port. Only `index.ts` imports
 * from here.
 */
import { randomBytes } from 'node:crypto';
import type { Client, Clock, Random } from 'holdfast';
import { assertDuration, describe } from '../checks.ts';
import { systemClock } from '../clock/system-clock.ts';
import { execute } from '../commands/dispatch.ts';
import { loadScriptEngine } from '../lua/script-engine.ts';
import { toBytes, toText } from '../protocol/bytes.ts';
import { type PlainValue, plainValue } from '../protocol/plain-value.ts';
import { ErrorReply } from '../protocol/reply.ts';
import { NodeSnapshot, NodeState, type RunIdSource } from '../state/node-state.ts';
import { Listener, type NodeAddress } from './listener.ts';
import { type NodeHost, nodeClient } from './node-client.ts';

export interface EmbeddedNodeOptions {
  /** The clock of key expiry and of `TIME`. Give `Locks` the same clock. @default the machine's clock */
  readonly clock?: Clock;
  /** For the node's `run_id`. @default the machine's randomness */
  readonly random?: Random;
}

export interface ListenOptions {
  /** @default any free port */
  readonly port?: number;
}

const SYSTEM_RUN_IDS: RunIdSource = { token: () => randomBytes(16).toString('hex') };

export class EmbeddedNode {
  readonly #state: NodeState;
  readonly #host: NodeHost;
  readonly #listeners: Listener[] = [];
  #isClosed = false;

  constructor(options: EmbeddedNodeOptions = {}) {
    const { clock = systemClock, random = SYSTEM_RUN_IDS } = options;
    const state = new NodeState(clock, random);
    this.#state = state;
    const isClosed = (): boolean => this.#isClosed;
    this.#host = {
      state,
      get isClosed() {
        return isClosed();
      },
      ready: () => this.#ready(),
    };
  }

  /** A client in this process, for one `Locks`. Closing that `Locks` closes the client. */
  client(): Client {
    return nodeClient(this.#host);
  }

  /** Opens a port without a password on the loopback interface, for any Redis client. */
  async listen(options: ListenOptions = {}): Promise<NodeAddress> {
    const { port = 0 } = options;
    if (!Number.isInteger(port) || port < 0 || port > 65_535)
      throw new TypeError(`expected port to be an integer from 0 to 65535, got ${describe(port)}`);
    this.#assertOpen();
    await this.#ready();
    const listener = new Listener(this.#state);
    const address = await listener.listen(port);
    this.#listeners.push(listener);
    return address;
  }

  /** Runs one command, for a test that reads or changes keys. Rejects when the node refuses the command. */
  async command(...args: readonly string[]): Promise<PlainValue> {
    for (const arg of args) {
      if (typeof arg !== 'string') throw new TypeError(`expected strings, got ${describe(arg)}`);
    }
    this.#assertOpen();
    await this.#ready();
    const state = this.#state;
    const connection = state.connect({ address: 'in-process:0', deliver: () => {}, close: () => {} });
    try {
      const reply = execute(state, connection, args.map(toBytes));
      if (reply instanceof ErrorReply) throw new Error(toText(reply.text));
      return plainValue(reply);
    } finally {
      state.disconnect(connection);
    }
  }

  /** Moves the time of the node ahead of the clock that it was given: keys expire as if that much time had passed. */
  advance(ms: number): void {
    assertDuration(ms);
    this.#state.jump(ms);
  }

  /** Stops answering, as a server in a long script or on a frozen machine does. Requests run after `resume`. */
  pause(): void {
    this.#state.pause();
  }

  /** Answers again, and runs every request that arrived while the node was paused. */
  resume(): void {
    this.#state.resume();
  }

  /** A copy of all keys, for a later restart. */
  snapshot(): NodeSnapshot {
    return new NodeSnapshot(this.#state.databases);
  }

  /** Restarts the node with the keys of a snapshot or with none. Connections are closed, loaded scripts are lost. */
  restart(snapshot?: NodeSnapshot): void {
    this.#state.start(snapshot);
  }

  /** Shuts the node down: ports and connections are closed, and clients in this process find it unreachable. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#listeners.splice(0).map((listener) => listener.close()));
    for (const { peer } of [...this.#state.connections]) peer.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #ready(): Promise<void> {
    this.#state.engine = await loadScriptEngine();
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new Error('this embedded node has been closed');
  }
}
