/** Which servers decide: from what the caller hands in to a topology. */
import { adaptClient, adaptCluster } from '../clients/adapt.ts';
import type { RedisClient } from '../clients/redis-client.ts';
import { LockConfigError } from '../errors.ts';
import type { ResolvedLocksOptions } from '../options/options.ts';
import { quote } from '../runtime/printable.ts';
import type { TimerQueue } from '../runtime/timer-queue.ts';
import { ClusterTopology } from './cluster/cluster.ts';
import { ClusterNodes } from './cluster/nodes.ts';
import type { Topology as OldTopology } from './old-topology.ts';
import { QuorumTopology } from './quorum/quorum.ts';
import { AcknowledgedTopology } from './server/acknowledged.ts';
import { SingleTopology } from './single.ts';
import type { Topology } from './topology.ts';
import { Transition } from './transition.ts';

export function topologyOf(
  clients: RedisClient | readonly RedisClient[],
  timers: TimerQueue,
  options: ResolvedLocksOptions,
): Topology {
  return new Transition(oldTopologyOf(clients, timers, options), timers, options.callTimeoutMs);
}

function oldTopologyOf(
  clients: RedisClient | readonly RedisClient[],
  timers: TimerQueue,
  options: ResolvedLocksOptions,
): OldTopology {
  const { random, bundleMax } = options;
  const cluster = adaptCluster(clients);
  if (cluster !== null) {
    return new ClusterTopology(new ClusterNodes(cluster, timers, options), timers, options);
  }
  checkPubSub(options);
  const terms = { timers, random, bundleMax };
  if (!isSeveral(clients)) {
    const client = adaptClient(clients, terms);
    const single = new SingleTopology(client, timers, options);
    if (options.replicas === null) return single;
    return new AcknowledgedTopology(single, client, options.replicas, timers.clock);
  }
  checkSeveral(clients, options);
  const adapted = clients.map((client) => adaptClient(client, terms));
  const silent = adapted.find(({ reconnectsSilently }) => reconnectsSilently);
  if (silent !== undefined) {
    throw new LockConfigError(
      `expected clients that tell a lost connection, got ${silent.description}: a restart of a server shows as a new connection, and this client does not tell`,
    );
  }
  const prefixes = [...new Set(adapted.map(({ keyPrefix }) => quote(keyPrefix)))];
  if (prefixes.length > 1) {
    throw new LockConfigError(`expected clients with one keyPrefix, got ${prefixes.join(' and ')}`);
  }
  return new QuorumTopology(adapted, timers, options);
}

function checkPubSub({ pubsub }: ResolvedLocksOptions): void {
  if (pubsub === 'auto' || pubsub === 'plain') return;
  throw new LockConfigError(
    `expected pubsub to be 'auto' or 'plain' without a cluster, got '${pubsub}': only the nodes of a cluster have shards`,
  );
}

function isSeveral(clients: RedisClient | readonly RedisClient[]): clients is readonly RedisClient[] {
  return Array.isArray(clients);
}

function checkSeveral(clients: readonly RedisClient[], { replicas }: ResolvedLocksOptions): void {
  if (clients.length === 0) throw new LockConfigError('expected at least one client, got an empty array');
  for (const [i, client] of clients.entries()) {
    const first = clients.indexOf(client);
    if (first === i) continue;
    throw new LockConfigError(
      `expected clients of independent servers, got the same one as ${first} and ${i}`,
    );
  }
  if (replicas !== null) {
    throw new LockConfigError(
      'expected no replicas with several clients, got some: a majority of servers is what outlives one of them there',
    );
  }
  if (clients.length % 2 === 0) {
    process.emitWarning(
      `${clients.length} servers survive no more failures than ${clients.length - 1} do, and split votes more often: use an odd number`,
      { type: 'HoldfastWarning', code: 'HOLDFAST_EVEN_QUORUM' },
    );
  }
}
