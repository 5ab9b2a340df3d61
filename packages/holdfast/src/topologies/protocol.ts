/** The seam between a kind of lock and the servers: what a transition is on one server. */
import type { Reply, ScriptCall } from '../clients/client.ts';

/** What a kind of lock allows, in plain values: one constant object a kind. */
export interface Policy {
  /** Holds of one process and name at once: 1 for a lock, Infinity for permits. */
  readonly holdsMax: number;
  /** Local owners of one hold at once: 1 for a lock, Infinity for readers. */
  readonly ownersMax: number;
  /** A fresh holder id for each attempt, or one for a whole wait. */
  readonly holderPer: 'attempt' | 'wait';
  /** Most hand-overs of one hold, besides the option `handovers`; Infinity where the fences decide. */
  readonly handoversMax: number;
  /** The holder id is the right to release, and must not be shown. */
  readonly isHolderSecret: boolean;
  /** What the key should hold, in words, for a conflict. */
  readonly expected: string;
}

/** Where new holder ids come from. */
export interface HolderIds {
  /** The UUID of the session. */
  readonly session: string;
  nextNumber(): number;
  token(): string;
}

/** What is known here of the hold that a statement is about. */
export interface Claim {
  /** Whether the hold is still wanted: what was released meanwhile must not be written again. */
  readonly isLive: boolean;
  /** The end of its block of fences, if it has one. */
  readonly lastFence: number | undefined;
}

/** Something that is to be true of a hold while the hold is ours. */
export interface Statement {
  readonly protocol: Protocol;
  readonly holder: string;
  readonly leaseMs: number;
  readonly claim: Claim;
  readonly batch: StatementBatch;
}

export type StateAnswer = 'KEPT' | 'GONE' | 'FAILED';

/** How statements of one sort travel in one call. Statements are grouped by this object. */
export interface StatementBatch {
  call(statements: readonly Statement[]): ScriptCall;
  read(reply: Reply, count: number): StateAnswer[];
}

export interface Fencing {
  /** How long a counter of fences outlives the lease and its last fence; 0: for ever. */
  readonly fenceTtlMs: number;
}

/** What a recount says of the hold besides its count. */
export interface RecountTerms {
  readonly holder: string;
  readonly leaseMs: number;
  /** The lease ends on its time: entering or leaving again does not prolong it. */
  readonly isFixed: boolean;
  readonly claim: Claim;
}

export interface Reentry {
  /** States how often the hold is entered. */
  recount(terms: RecountTerms, count: number): Statement;
}

/** A kind of lock on one name. */
export interface Protocol {
  readonly kind: string;
  /** As the caller gave it. */
  readonly name: string;
  /** The Redis key. */
  readonly key: string;
  readonly channel: string;
  readonly policy: Policy;
  newHolder(ids: HolderIds): string;
  readonly renewal: StatementBatch;
  /** Only of kinds with fences. */
  readonly fencing?: Fencing;
  /** Only of kinds that can be entered again. */
  readonly reentry?: Reentry;
}
