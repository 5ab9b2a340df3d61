/**
 * In this folder: which node of a cluster has which slot. Only `clients/` and `topologies/cluster/` import from here.
 *
 * A `ClusterDriver` is what the two kinds of cluster client have in common for us: they know where a cluster begins and
 * how its nodes are reached. We send nothing through them: they resend commands on their own, follow redirections inside
 * and have no deadline, and whether a lock was taken must be known exactly.
 */

import type { Driver } from '../connection/raw-connection.ts';
import { addressKey, type NodeAddress } from './address.ts';

export interface Obstacle {
  readonly kind: 'unreachable';
  readonly text: string;
}

export interface ClusterDriver {
  /** Which client, where. No secrets. */
  readonly description: string;
  readonly keyPrefix: string;
  /** Why no node can be reached through this client right now, or null. */
  readonly obstacle: Obstacle | null;
  /** Nodes that may be asked for the others. */
  seeds(): readonly NodeAddress[];
  /**
   * A driver for a node, by the address under which the cluster knows the node. May throw: the caller's own map of
   * addresses is asked.
   */
  drive(address: NodeAddress): Driver;
}

/** Never throws: a node that the caller's map has no address for cannot be reached, until the map has one. */
export function driveNode(cluster: ClusterDriver, address: NodeAddress): Driver {
  try {
    return cluster.drive(address);
  } catch {
    return {
      description: addressKey(address),
      keyPrefix: cluster.keyPrefix,
      dial: async (events, signal) => cluster.drive(address).dial(events, signal),
    };
  }
}
