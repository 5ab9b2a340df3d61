/** A cluster of nodes whose every answer a test gives: where slots are, what a script gets, what is refused. */
import type { ScriptCall } from '../../../src/clients/client.ts';
import { addressKey, type NodeAddress } from '../../../src/clients/cluster/address.ts';
import type { ClusterDriver } from '../../../src/clients/cluster/cluster-driver.ts';
import type { Driver, RawConnection } from '../../../src/clients/connection/raw-connection.ts';

export interface Received extends ScriptCall {
  readonly node: string;
}

/** Undefined: no answer ever. An error: its message is the reply, or the client's own trouble. */
export type Answering = (call: ScriptCall) => unknown;

export const A: NodeAddress = { host: 'a', port: 1 };
export const B: NodeAddress = { host: 'b', port: 2 };
const C: NodeAddress = { host: 'c', port: 3 };

export class ScriptedCluster implements ClusterDriver {
  readonly description = 'a cluster';
  readonly keyPrefix = '';
  readonly obstacle = null;
  readonly received: Received[] = [];
  readonly down = new Set<string>();
  /** Those that the caller's own map of addresses throws at. */
  readonly unmapped = new Set<string>();
  /** Those that let us in, and say nothing when they are asked for the map. */
  readonly silent = new Set<string>();
  readonly #answering = new Map<string, Answering>();
  /** The primary of every slot, as whoever is asked tells it. */
  primary: NodeAddress = A;
  /** Up to which slot they have been given out. */
  lastSlot = 16_383;
  mapsRead = 0;
  /** What is said to whoever asks about the channels of shards. An error is refused with, undefined is silence. */
  shardAnswer: unknown = [];
  shardQuestions = 0;
  /** Who listens to what now: `sharded a:1 news`. */
  readonly listening = new Set<string>();

  seeds(): readonly NodeAddress[] {
    return [C];
  }

  /** What this node answers to scripts from now on. */
  at(node: NodeAddress, answering: Answering): void {
    this.#answering.set(addressKey(node), answering);
  }

  /** The scripts that this node got, by name, with `asking` before those that were allowed in. */
  sentTo(node: NodeAddress): string[] {
    return this.received
      .filter((call) => call.node === addressKey(node))
      .map((call) => `${call.isAsking === true ? 'asking ' : ''}${call.script.name}`);
  }

  drive(address: NodeAddress): Driver {
    const node = addressKey(address);
    if (this.unmapped.has(node)) throw new Error(`no way to ${node}`);
    return {
      description: node,
      keyPrefix: '',
      dial: () => this.#dial(node),
    };
  }

  #tellOfShards(): unknown {
    this.shardQuestions += 1;
    if (this.shardAnswer instanceof Error) throw this.shardAnswer;
    return this.shardAnswer === undefined ? new Promise(() => {}) : this.shardAnswer;
  }

  async #dial(node: string): Promise<RawConnection> {
    if (this.down.has(node)) throw Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
    return {
      send: async (call) => {
        this.received.push({ ...call, node });
        const answer = this.#answering.get(node)?.(call);
        if (answer instanceof Error) throw answer;
        return answer === undefined ? new Promise(() => {}) : answer;
      },
      command: async ([verb]) => {
        if (verb !== 'CLUSTER') return this.#tellOfShards();
        this.mapsRead += 1;
        if (this.silent.has(node)) return new Promise(() => {});
        return [[0, this.lastSlot, [this.primary.host, this.primary.port, 'id']]];
      },
      subscribe: async (channel, mode) => this.listening.add(`${mode} ${node} ${channel}`),
      unsubscribe: async (channel, mode) => this.listening.delete(`${mode} ${node} ${channel}`),
    };
  }
}
