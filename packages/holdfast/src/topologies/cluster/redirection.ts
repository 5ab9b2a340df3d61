/**
 * What a node of a cluster says when it does not serve a call, read for where to go next. In every case the node says so
 * before it has run anything.
 *
 * - `moved`: another node has the slot.
 * - `ask`: another node is taking over the slot, and has this key already. Only for this call.
 * - `again`: the keys of the call are on both sides of a slot that is moving. The same call may be served in a moment.
 * - `elsewhere`: there is no connection to the node, so nothing was written: perhaps another node has the slot now.
 */
import { type NodeAddress, readAddress } from '../../clients/cluster/address.ts';
import type { ServerFailure } from '../../errors.ts';

export type Redirection =
  | { readonly is: 'moved'; readonly slot: number; readonly to: NodeAddress }
  | { readonly is: 'ask'; readonly to: NodeAddress }
  | { readonly is: 'again' }
  | { readonly is: 'elsewhere' };

export type Refusal = Pick<ServerFailure, 'kind' | 'text'>;

/** Null when the answer stands. `speaker` is the node that gave it. */
export function redirectionOf({ kind, text }: Refusal, speaker: NodeAddress): Redirection | null {
  if (kind === 'unreachable') return { is: 'elsewhere' };
  if (kind !== 'reply') return null;
  const [word, slot, address = ''] = text.split(' ');
  if (word === 'TRYAGAIN') return { is: 'again' };
  if (word !== 'MOVED' && word !== 'ASK') return null;
  const to = readAddress(address, speaker);
  if (to === null) return null;
  return word === 'ASK' ? { is: 'ask', to } : { is: 'moved', slot: Number(slot), to };
}
