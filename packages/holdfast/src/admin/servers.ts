/** Sends an administrative script to the servers of a topology, and fails unless enough of them answer. */
import { CallFailure, type Reply, type ScriptCall } from '../clients/client.ts';
import { LockUnavailableError, LockUnknownError, type ServerFailure } from '../errors.ts';
import { roleOf } from '../keys/derived.ts';
import { lineChannel, sessionChannel } from '../keys/name.ts';
import { describeServers } from '../locking/failures.ts';
import { read } from '../topologies/server/reading.ts';
import type { QueriedServers, QueryAnswer, QueryCall, Topology } from '../topologies/topology.ts';

/** What one server answered. */
export interface Answer<Value> {
  /** The number of the server among those that were asked. */
  readonly index: number;
  readonly server: string;
  readonly value: Value;
}

export class AdminServers {
  /** Put before a name to make its key. */
  readonly keyPrefix: string;
  readonly #topology: Topology;
  readonly #callTimeoutMs: number;

  constructor(topology: Topology, callTimeoutMs: number, keyPrefix: string) {
    this.#topology = topology;
    this.#callTimeoutMs = callTimeoutMs;
    this.keyPrefix = keyPrefix;
  }

  /** The key of a name. The key of the lock of a once key, a leader or a job, as SCAN finds it, is taken as it is. */
  keyOf(name: string): string {
    return roleOf(name) === null ? this.keyPrefix + name : name;
  }

  /** How many servers must agree on what a name holds. */
  get majority(): number {
    return this.#topology.majority;
  }

  /** Whether each server has only the keys of its own slots. */
  get hasShards(): boolean {
    return this.#topology.shards !== undefined;
  }

  /** Whether waiters have a line of their own. */
  get hasLine(): boolean {
    return this.#topology.hasLine;
  }

  /** Where sessions hear of that key: the channel of a session is this and its id. Empty where there is no line. */
  mailboxOf(key: string): string {
    if (!this.hasLine) return '';
    return this.hasShards ? lineChannel(key, '') : sessionChannel('');
  }

  /** The servers that decide about a name. */
  get deciding(): QueriedServers {
    const topology = this.#topology;
    return { size: topology.size, needed: topology.majority, query: topology.query.bind(topology) };
  }

  /** The servers that together have all names. */
  async all(): Promise<QueriedServers> {
    const { shards } = this.#topology;
    return shards === undefined ? this.deciding : shards.allServers(this.#callTimeoutMs);
  }

  /** Rejects when fewer than `servers.needed` answer. `name` is for the error. */
  async ask<Value>(
    servers: QueriedServers,
    callFor: QueryCall,
    decode: (reply: Reply) => Value,
    name: string | undefined,
  ): Promise<Answer<Value>[]> {
    const answers: Answer<Value>[] = [];
    const failures: ServerFailure[] = [];
    for (const { index, server, reply } of await servers.query(callFor, this.#callTimeoutMs)) {
      const value = reply instanceof CallFailure ? reply : read(reply, () => decode(reply));
      if (value instanceof CallFailure) failures.push({ server, kind: value.kind, text: value.text });
      else answers.push({ index, server, value });
    }
    if (answers.length >= servers.needed) return answers;
    const what = servers.size === 1 ? 'the server did not serve it' : 'too few servers served it';
    const message = `${what} (${describeServers(failures)})`;
    if (failures.some(({ kind }) => kind === 'unknown')) throw new LockUnknownError(message, { lock: name });
    throw new LockUnavailableError(message, { lock: name, servers: failures });
  }

  /** While a slot of a cluster moves, the keys of one name may be on two nodes, and a call that names several is refused. */
  withOwnKeyIfSplit<Value>(ask: () => Promise<Value>, askOwnKey: () => Promise<Value>): Promise<Value> {
    return ask().catch((error: unknown) => {
      if (isSplitBetweenNodes(error)) return askOwnKey();
      throw error;
    });
  }

  /** For questions that nothing depends on: each server's answer or failure, and never a rejection. */
  query(call: ScriptCall): Promise<readonly QueryAnswer[]> {
    return this.#topology.query(() => call, this.#callTimeoutMs);
  }
}

function isSplitBetweenNodes(error: unknown): boolean {
  return (
    error instanceof LockUnavailableError && error.servers.some(({ text }) => text.startsWith('TRYAGAIN'))
  );
}
