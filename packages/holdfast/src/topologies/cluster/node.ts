/** One node of a cluster that we talk to: one server, with a clock of its own. */
import type { CallFailure, ReplicaTerms, StopListening, Wake } from '../../clients/client.ts';
import type { NodeAddress } from '../../clients/cluster/address.ts';
import type { OwnedClient } from '../../clients/owned-client.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { PubSubMode } from '../protocol.ts';
import { serverFor } from '../server/confirmed.ts';
import type { Server } from '../server/server.ts';
import { ServerClock } from '../server/server-clock.ts';

export interface ClusterNodeOptions {
  /** How many replicas of the node must have a lock before it counts; null: none. */
  readonly replicas: ReplicaTerms | null;
}

export class ClusterNode {
  readonly address: NodeAddress;
  readonly client: OwnedClient;
  readonly server: Server;
  /** For calls that another node has sent here. */
  readonly askingServer: Server;

  constructor(
    address: NodeAddress,
    client: OwnedClient,
    clock: Clock,
    { replicas }: ClusterNodeOptions,
    pubSubMode: () => PubSubMode,
  ) {
    this.address = address;
    this.client = client;
    // Servers have clocks of their own: what one has told of its time means nothing to another.
    const settings = { serverClock: new ServerClock(), pubSubMode };
    this.server = serverFor(client, clock, replicas, settings);
    this.askingServer = serverFor(client.asking, clock, replicas, settings);
  }

  /** Whether the node was connected and is not any more. A node that nobody has needed yet is not lost. */
  get isLost(): boolean {
    return this.client.connections > 0 && !this.client.isConnected;
  }

  listen(
    mode: 'plain' | 'sharded',
    channel: string,
    wake: Wake,
    timeoutMs: number,
  ): Promise<StopListening | CallFailure> {
    return mode === 'plain'
      ? this.client.listen(channel, wake, timeoutMs)
      : this.client.listenToShard(channel, wake, timeoutMs);
  }
}
