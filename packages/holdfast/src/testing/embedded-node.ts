/**
 * A Redis server inside the process, for tests and demonstrations. It runs the very scripts that are sent to a real
 * one, with real Lua; it has the commands that locks and their clients use, and refuses all others.
 *
 * It is not a database: nothing is written to disk, no memory limit is kept, and one slow script stops the process.
 */
import type { Client } from '../clients/client.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { describe } from '../runtime/describe.ts';
import { type Random, systemRandom } from '../runtime/random.ts';
import { toBytes, toText } from './bytes.ts';
import { execute } from './dispatch.ts';
import { Listener, type NodeAddress } from './listener.ts';
import { type NodeHost, nodeClient } from './node-client.ts';
import { NodeSnapshot, NodeState } from './node-state.ts';
import { type PlainValue, plainValue } from './plain-value.ts';
import { ErrorReply } from './reply.ts';
import { loadScriptEngine } from './script-engine.ts';

export interface EmbeddedNodeOptions {
  /** By which keys expire and `TIME` answers. Give `Locks` the same one. @default the machine's clock */
  readonly clock?: Clock;
  /** For the node's `run_id`. @default the machine's randomness */
  readonly random?: Random;
}

export interface ListenOptions {
  /** @default any free port */
  readonly port?: number;
}

export class EmbeddedNode {
  readonly #state: NodeState;
  readonly #host: NodeHost;
  readonly #listeners: Listener[] = [];
  #isClosed = false;

  constructor(options: EmbeddedNodeOptions = {}) {
    const { clock = systemClock, random = systemRandom } = options;
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

  /** A client in this process, for one `Locks`. Closing that `Locks` closes it. */
  client(): Client {
    return nodeClient(this.#host);
  }

  /** Opens a port on the loopback interface, for any Redis client. It has no password. */
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

  /** Runs one command, for a test that looks at the keys or changes them. Rejects when the node refuses it. */
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

  /** Moves the node's own clock on, ahead of the one it was given: keys expire as if that much time had passed. */
  advance(ms: number): void {
    if (!(ms >= 0 && Number.isFinite(ms)))
      throw new TypeError(`expected ms to be a number of at least 0, got ${describe(ms)}`);
    this.#state.jump(ms);
  }

  /** Stands still, as a server in a long script or a frozen machine does. What is asked meanwhile is done later. */
  pause(): void {
    this.#state.pause();
  }

  /** Goes on, and does everything that was asked meanwhile. */
  resume(): void {
    this.#state.resume();
  }

  /** What the keys hold now, for a restart later. */
  snapshot(): NodeSnapshot {
    return new NodeSnapshot(this.#state.databases);
  }

  /** Starts again, with what a snapshot holds or with nothing. Connections are cut, loaded scripts are forgotten. */
  restart(snapshot?: NodeSnapshot): void {
    this.#state.start(snapshot);
  }

  /** Ends it: ports are closed, connections cut, clients in this process find it unreachable. */
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
