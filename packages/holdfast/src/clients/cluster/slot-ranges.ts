/** Reads the reply to `CLUSTER SLOTS`: which node is the primary of which slots, and which replicas it has. */

import { SLOTS } from '../../keys/slot.ts';
import { addressKey, type NodeAddress } from './address.ts';

export interface SlotRange {
  readonly first: number;
  readonly last: number;
  readonly primary: NodeAddress;
  readonly replicas: readonly NodeAddress[];
}

/** Null when the reply is none to `CLUSTER SLOTS`. The speaker is the node that gave it. */
export function readSlotRanges(reply: unknown, speaker: NodeAddress): SlotRange[] | null {
  if (!Array.isArray(reply)) return null;
  const ranges: SlotRange[] = [];
  for (const entry of reply as readonly unknown[]) {
    if (!Array.isArray(entry)) return null;
    const [first, last, ...nodes] = (entry as readonly unknown[]).map((part, i) =>
      i < 2 ? part : readNode(part, speaker),
    );
    if (!isSlot(first) || !isSlot(last)) return null;
    const [primary, ...replicas] = nodes as (NodeAddress | null)[];
    // A primary without a known address cannot be asked: whoever needs its slots reads the map again.
    if (primary === null || primary === undefined) continue;
    ranges.push({ first, last, primary, replicas: replicas.filter((replica) => replica !== null) });
  }
  return ranges;
}

/** All nodes of the ranges, once each. */
export function nodesOf(ranges: readonly SlotRange[]): NodeAddress[] {
  const nodes = ranges.flatMap(({ primary, replicas }) => [primary, ...replicas]);
  return [...new Map(nodes.map((node) => [addressKey(node), node])).values()];
}

function isSlot(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < SLOTS;
}

/** `[host, port, id, ...]`. An empty host, or none, means the one that we are talking to. */
function readNode(part: unknown, speaker: NodeAddress): NodeAddress | null {
  if (!Array.isArray(part)) return null;
  const [host, port] = part as readonly unknown[];
  if (typeof port !== 'number' || port <= 0 || host === '?') return null;
  return { host: typeof host === 'string' && host !== '' ? host : speaker.host, port };
}
