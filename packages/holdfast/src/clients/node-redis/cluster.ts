/** The cluster of node-redis 5 to 6. */

import { addressKey, type NodeAddress, readAddress } from '../cluster/address.ts';
import type { ClusterDriver, Obstacle } from '../cluster/cluster-driver.ts';
import type { Driver } from '../connection/raw-connection.ts';
import { driveNodeRedisTo, keyPrefixOf, type NodeRedis, socketOptionsOf } from './node-redis.ts';

type Options = Readonly<Record<string, unknown>>;

/** A node of a cluster client. With `minimizeConnections` it has no client before the first command to it. */
interface ClusterNode {
  readonly client?: NodeRedis | undefined;
}

/** What we use of a cluster client. */
interface NodeRedisCluster {
  readonly masters: readonly ClusterNode[];
  readonly nodeByAddress: ReadonlyMap<string, ClusterNode>;
  /** Connects the node if it is not. */
  nodeClient(node: ClusterNode): unknown;
  /** From version 6 on; version 5 keeps them to itself. */
  readonly _options?: Options;
}

const NOWHERE: NodeAddress = { host: '127.0.0.1', port: 0 };

class NodeRedisClusterDriver implements ClusterDriver {
  readonly #cluster: NodeRedisCluster;
  readonly description = 'node-redis cluster';
  readonly keyPrefix: string;
  /** Any client of a node: ours are duplicates of it. Kept, because it can be duplicated also when it has ended. */
  #template: NodeRedis | undefined;

  constructor(cluster: NodeRedisCluster) {
    this.#cluster = cluster;
    this.keyPrefix = keyPrefixOf(cluster._options);
  }

  /** The cluster client knows its nodes once its owner has connected it. */
  get obstacle(): Obstacle | null {
    if (this.#findTemplate() !== undefined) return null;
    const text = 'the node-redis cluster is not connected: call its connect() and await it first';
    return { kind: 'unreachable', text };
  }

  seeds(): readonly NodeAddress[] {
    const addresses = [...this.#cluster.nodeByAddress.keys()].map((key) => readAddress(key, NOWHERE));
    return addresses.filter((address) => address !== null);
  }

  drive(address: NodeAddress): Driver {
    const template = this.#findTemplate();
    if (template === undefined) throw new Error(this.obstacle?.text);
    return driveNodeRedisTo(template, this.#mapped(address));
  }

  #findTemplate(): NodeRedis | undefined {
    if (this.#template !== undefined) return this.#template;
    const [node] = this.#cluster.masters;
    if (node === undefined) return undefined;
    if (node.client === undefined) {
      // Makes the node's client, as any command of the application would. Whether the client connects does not matter here.
      Promise.resolve(this.#cluster.nodeClient(node)).catch(() => {});
    }
    this.#template = node.client;
    return this.#template;
  }

  /** Through the caller's `nodeAddressMap`: what it made of the nodes that it knows, or the map itself. */
  #mapped(address: NodeAddress): NodeAddress {
    const key = addressKey(address);
    const known = socketOptionsOf(this.#cluster.nodeByAddress.get(key)?.client?.options);
    const nodeAddressMap = this.#cluster._options?.['nodeAddressMap'];
    const mapped: unknown =
      known['port'] !== undefined
        ? known
        : typeof nodeAddressMap === 'function'
          ? nodeAddressMap(key)
          : typeof nodeAddressMap === 'object' && nodeAddressMap !== null
            ? Reflect.get(nodeAddressMap, key)
            : undefined;
    if (typeof mapped !== 'object' || mapped === null) return address;
    const { host = address.host, port = address.port } = mapped as { host?: unknown; port?: unknown };
    return { host: String(host), port: Number(port) };
  }
}

/** The caller must have made sure that the client is a node-redis cluster: see `adapt.ts`. */
export function driveNodeRedisCluster(client: object): ClusterDriver {
  // The one border: what `adapt.ts` checked stands for the rest, and the tests on a real cluster for that.
  return new NodeRedisClusterDriver(client as NodeRedisCluster);
}
