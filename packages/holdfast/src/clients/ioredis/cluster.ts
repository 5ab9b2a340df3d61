/** The `Cluster` of ioredis 5.4 to 6, and of iovalkey. */

import { addressKey, type NodeAddress } from '../cluster/address.ts';
import type { ClusterDriver } from '../cluster/cluster-driver.ts';
import type { Driver } from '../connection/raw-connection.ts';
import { type Ioredis, IoredisDriver, keyPrefixOf } from './ioredis.ts';

type Options = Readonly<Record<string, unknown>>;

/** What we use of a cluster client. */
interface IoredisCluster {
  readonly options: Options;
  /** The nodes as the application gave them: a port, a URL, or options. */
  readonly startupNodes?: readonly unknown[];
  /** Makes a `Redis` for a node from the options of the cluster, not connected; iovalkey gives it inside a record. */
  readonly connectionPool: { findOrCreate(node: object): Ioredis | { readonly redis: Ioredis } };
  nodes(role: 'all'): readonly Ioredis[];
  duplicate(startupNodes: readonly object[], override: object): IoredisCluster;
}

/** For a copy of the caller's cluster client that is never connected: all that it does is to make clients for nodes. */
const FACTORY_OPTIONS: Options = {
  lazyConnect: true,
  shardedSubscribers: false,
  himportFieldsets: undefined,
  scripts: undefined,
};

const HOST_DEFAULT = '127.0.0.1';
const PORT_DEFAULT = 6379;

class IoredisClusterDriver implements ClusterDriver {
  readonly #cluster: IoredisCluster;
  readonly #factory: IoredisCluster;
  /** What the caller said of single nodes, by their address. */
  readonly #startNodes: ReadonlyMap<string, NodeAddress>;
  readonly description: string;
  readonly keyPrefix: string;
  readonly obstacle = null;

  constructor(cluster: IoredisCluster) {
    this.#cluster = cluster;
    this.#factory = cluster.duplicate([], FACTORY_OPTIONS);
    const nodes = (cluster.startupNodes ?? []).map(readStartNode);
    this.#startNodes = new Map(nodes.map((node) => [addressKey(node), node]));
    this.description = `ioredis cluster ${[...this.#startNodes.keys()].join(', ')}`;
    this.keyPrefix = keyPrefixOf(cluster.options);
  }

  seeds(): readonly NodeAddress[] {
    const known = this.#cluster.nodes('all').map(({ options }) => addressOf(options));
    // A name of a service record is no address of a node.
    const first = this.#cluster.options['useSRVRecords'] === true ? [] : [...this.#startNodes.values()];
    return [...first, ...known];
  }

  drive(address: NodeAddress): Driver {
    const { host, port } = this.#mapped(address);
    const given = this.#startNodes.get(addressKey({ host, port }));
    const made = this.#factory.connectionPool.findOrCreate({ ...given, host, port });
    return new IoredisDriver('redis' in made ? made.redis : made);
  }

  /** Through the caller's `natMap`. A seed is its own address, and no map need know it. */
  #mapped(address: NodeAddress): NodeAddress {
    const { natMap } = this.#cluster.options;
    const key = addressKey(address);
    const mapped: unknown =
      typeof natMap === 'function'
        ? natMap(key)
        : typeof natMap === 'object' && natMap !== null
          ? Reflect.get(natMap, key)
          : undefined;
    return typeof mapped === 'object' && mapped !== null ? addressOf(mapped) : address;
  }
}

/** The caller must have made sure that the client is an ioredis cluster: see `adapt.ts`. */
export function driveIoredisCluster(client: object): ClusterDriver {
  // The one border: what `adapt.ts` checked stands for the rest, and the tests on a real cluster for that.
  return new IoredisClusterDriver(client as IoredisCluster);
}

function addressOf(options: object): NodeAddress {
  const { host = HOST_DEFAULT, port = PORT_DEFAULT } = options as { host?: unknown; port?: unknown };
  return { host: String(host), port: Number(port) };
}

/** The address of a start node, with everything else that was said of it, such as a password. */
function readStartNode(node: unknown): NodeAddress {
  if (typeof node === 'number') return { host: HOST_DEFAULT, port: node };
  if (typeof node === 'object' && node !== null) return { ...node, ...addressOf(node) };
  const text = String(node);
  const url = new URL(text.includes('://') ? text : `redis://${text}`);
  const login = {
    ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
  };
  const port = url.port === '' ? PORT_DEFAULT : Number(url.port);
  return { ...login, host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port };
}
