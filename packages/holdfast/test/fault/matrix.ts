/** Which clients and which kinds of lock the fault tests are run for. */
import type { ClientKind } from '../support/bench.ts';
import { type Extent, rowsOf } from '../support/extent.ts';
import { type Kind, LOCK, MUTEX } from '../support/locks/kind.ts';

export interface FaultRow extends Extent {
  readonly client: ClientKind;
  readonly kind: Kind;
}

/**
 * Every client with every kind of lock; `$client` and `$kind.name` name them in titles. The two crossings are of the
 * matrix only: what a client does to a call does not depend on the script.
 */
export const MATRIX: readonly FaultRow[] = rowsOf<FaultRow>([
  { client: 'ioredis', kind: LOCK },
  { client: 'node-redis', kind: MUTEX },
  { client: 'ioredis', kind: MUTEX, isMatrix: true },
  { client: 'node-redis', kind: LOCK, isMatrix: true },
]);
