/**
 * What the two kinds of cluster client have in common for us: they know where a cluster begins and how its nodes are
 * reached. We send nothing through them. They send commands again on their own, follow redirections inside and
 * have no deadline, and whether a lock was taken must be known exactly.
 */

import type { NodeDriver } from '../connection/raw-connection.ts';
import { addressKey, type NodeAddress } from './address.ts';

export interface Obstacle {
  readonly kind: 'unreachable';
  readonly text: string;
}

export interface ClusterDriver {
  /** Which client, where. No secrets. */
  readonly description: string;
  readonly keyPrefix: string;
  /** Why no node can be reached by it right now, or null. */
  readonly obstacle: Obstacle | null;
  /** Nodes that may be asked for the others. */
  seeds(): readonly NodeAddress[];
  /**
   * Makes connections to a node, by the address under which the cluster knows it. May throw: it asks the caller's own
   * map of addresses.
   */
  drive(address: NodeAddress): NodeDriver;
}

/** Never throws: a node whose address the caller's map does not give is one that cannot be reached, until it does. */
export function driveNode(cluster: ClusterDriver, address: NodeAddress): NodeDriver {
  try {
    return cluster.drive(address);
  } catch {
    return {
      description: addressKey(address),
      keyPrefix: cluster.keyPrefix,
      dial: (events) => cluster.drive(address).dial(events),
    };
  }
}
