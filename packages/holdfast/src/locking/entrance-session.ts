import type { Protocol } from '../topologies/protocol.ts';
import type { HoldingServices } from './hold-life.ts';
import type { Reentry } from './reentry.ts';
import type { AttemptServices } from './waiting/attempt.ts';

/** What an entrance needs of its session. */
export interface EntranceSession extends AttemptServices, HoldingServices {
  readonly id: string;
  readonly reentry: Reentry;
  readonly state: 'open' | 'closing' | 'closed';
  /** `begin` is called before an attempt, `finish` when its hold has ended, or when it brought no hold. */
  begin(): void;
  finish(): void;
  /** Nobody uses the entrance any more. */
  forget(entrance: { readonly protocol: Protocol }): void;
}
