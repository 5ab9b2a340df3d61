/** One node of a cluster that we talk to: like one server, with a clock of its own. */
import type { CallFailure, StopListening, Wake } from '../clients/client.ts';
import type { NodeAddress } from '../clients/node-address.ts';
import type { NodeClient } from '../clients/node-client.ts';
import type { Agenda } from '../core/agenda.ts';
import type { LateReleasesOptions } from './late-releases.ts';
import { ServerClock } from './server-clock.ts';
import { SingleTopology } from './single.ts';
import type { PubSub } from './topology.ts';

export class ClusterNode {
  readonly address: NodeAddress;
  readonly client: NodeClient;
  readonly server: SingleTopology;
  /** For calls that another node has sent here. */
  readonly askedServer: SingleTopology;

  constructor(
    address: NodeAddress,
    client: NodeClient,
    agenda: Agenda,
    options: LateReleasesOptions,
    how: PubSub,
  ) {
    this.address = address;
    this.client = client;
    // Servers have clocks of their own: what one has told of its time means nothing to another.
    const settings = { serverClock: new ServerClock(), how };
    this.server = new SingleTopology(client, agenda, options, settings);
    this.askedServer = new SingleTopology(client.asking, agenda, options, settings);
  }

  /** Whether it was there and is not any more. One that nobody has needed yet is not lost. */
  get isLost(): boolean {
    return this.client.connections > 0 && !this.client.isConnected;
  }

  listen(
    how: 'plain' | 'sharded',
    channel: string,
    wake: Wake,
    timeoutMs: number,
  ): Promise<StopListening | CallFailure> {
    return how === 'plain'
      ? this.client.listen(channel, wake, timeoutMs)
      : this.client.listenToShard(channel, wake, timeoutMs);
  }
}
