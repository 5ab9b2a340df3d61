/**
 * What a kind of lock tells the layers below: its transitions on one server, as script calls and the reading of their
 * replies, and its policies as plain values. A kind brings a `Protocol` and nothing else; how many servers must agree
 * is the topology's part, who waits and who is served is the entrance's.
 *
 * Fences and re-entry are parts that a kind may lack: who needs one asks whether it is there.
 */
import type { Reply, ScriptCall } from '../clients/client.ts';

/** Which channels carry wake-ups: plain ones, those of a cluster's shards, or both. */
export type PubSubMode = 'plain' | 'sharded' | 'both';

/** What an acquire states: this holder has the lock, for this long, with this many fences. */
export interface HoldTerms {
  readonly holder: string;
  readonly leaseMs: number;
  /** How many local owners the hold may serve: each gets a fence of its own. The server may grant fewer. */
  readonly fences: number;
  /**
   * The time, in µs, that fences begin from on all of several servers, so that all give the same; 0 or absent: each
   * server begins from its own clock.
   */
  readonly commonUs?: number;
  /** What the holder states in the line of waiters; absent: it does not wait. */
  readonly ticket?: string;
  /** An earlier acquire of this holder was answered with a place in the line, so it may be granted without another. */
  readonly isInLine?: boolean;
}

/** What an acquire is told of time. */
export interface AcquireLimits {
  /** The server's time after which the acquire must not be granted; 0 when the server's clock is not known. */
  readonly notAfterMs: number;
  /** Whether the answer must bring the server's time. */
  readonly wantsTime: boolean;
  /** Whether this server keeps lines of waiters: one of a quorum does not. */
  readonly hasLine: boolean;
}

/** A waiter's place in the line. */
export interface LinePlace {
  /** From 1, and never less than it is; 0 without a ticket. */
  readonly place: number;
  /** How many processes are in the line. */
  readonly tickets: number;
  /** For how long the free key is left to guests. */
  readonly openMs: number;
  /** Whether the owner is none of ours, so that its release is told on the public channel only. */
  readonly isGuest: boolean;
}

/** One server's answer to an acquire. */
export type AcquireAnswer =
  | {
      readonly is: 'GRANTED';
      readonly nowMs?: number;
      readonly firstFence?: number;
      /** How many fences the hold has; absent: as many as were asked for. */
      readonly fences?: number;
      /** How many processes are in the line; absent: none. */
      readonly tickets?: number;
      /** Which attempt at its work the hold is for, where the kind counts attempts. */
      readonly attempt?: number;
    }
  /** The lock is not needed any more: what it would be held for has been done or has failed. `answer` is for the kind. */
  | { readonly is: 'SETTLED'; readonly nowMs: number; readonly answer: unknown }
  | {
      readonly is: 'HELD';
      readonly nowMs: number;
      readonly ttlMs: number;
      readonly owner?: string;
      readonly line?: LinePlace;
    }
  | { readonly is: 'LATE'; readonly nowMs: number }
  | { readonly is: 'CONFLICT'; readonly nowMs: number; readonly found: string };

/** `LEFT`: the holder was not the owner, and its ticket is taken out of the line. */
export type ReleaseAnswer =
  | { readonly is: 'RELEASED'; readonly receivers: number }
  | { readonly is: 'LEFT' }
  | { readonly is: 'GONE' };

/** What this process knows of the hold that a statement is about. */
export interface KnownHold {
  /** False once the hold was released or lost: nothing may write it again. */
  readonly isLive: boolean;
  /** The end of the hold's block of fences, if it has one. */
  readonly lastFence: number | undefined;
}

/**
 * Something that is to be true of a hold while the hold is ours: its lease runs this long from now (a renewal), it is
 * entered this often (a recount), its fences are used up to here (a raise). Repeating a statement is harmless.
 */
export interface Statement {
  readonly protocol: Protocol;
  readonly holder: string;
  readonly leaseMs: number;
  readonly known: KnownHold;
  /** How the statement is sent and read. Statements of one batch object travel in one call. */
  readonly batch: StatementBatch;
  /**
   * Names the lock's own key and no other: while a slot moves, the keys of one lock may be at different nodes, and a
   * lease must not be lost for that. Kinds with one key have nothing to leave out.
   */
  readonly isOwnKeyOnly?: boolean;
}

/** The hold is gone, because an operator took it away for that reason. */
export interface Revoked {
  readonly is: 'REVOKED';
  readonly words: string;
}

/** One server's answer to a statement. `FAILED`: the server could not look at that key. */
export type StateAnswer = 'KEPT' | 'GONE' | 'FAILED' | Revoked;

/** How a kind states something of many holds in one call. One object for each kind and verb. */
export interface StatementBatch {
  call(statements: readonly Statement[]): ScriptCall;
  /** One answer for each of `count` statements, in order. Throws when the reply is not one that the script can give. */
  read(reply: Reply, count: number): readonly StateAnswer[];
}

/** The part of kinds whose grants carry a number that grows. */
export interface Fencing {
  /** How long a counter of fences outlives the lease and its last fence; 0: for ever. */
  readonly fenceTtlMs: number;
  /**
   * States that the counter is at the end of a block that several servers agreed on, where the hold is ours; once the
   * block `isGiven` to its owner, also where nobody has the lock.
   */
  raise(hold: Pick<HoldTerms, 'holder' | 'leaseMs'>, lastFence: number, isGiven: boolean): Statement;
}

/** The hold that is entered again. */
export interface ReenteredHold {
  readonly holder: string;
  readonly leaseMs: number;
  /** The lease ends at its time: entering and leaving do not prolong it. */
  readonly isFixed: boolean;
  readonly known: KnownHold;
}

/** The part of kinds that an owner can enter again. */
export interface Reentry {
  /** States how often the hold is entered. */
  recount(hold: ReenteredHold, count: number): Statement;
}

/** What is the same for all locks of a kind: one constant object for each kind. */
export interface Policy {
  /** Holds of one process and name at once: 1 excludes, Infinity for permits. */
  readonly holdsMax: number;
  /** Local owners of one hold at once: 1 excludes, Infinity for readers. */
  readonly ownersMax: number;
  /** Whether each attempt has a holder id of its own, or all attempts of one wait share an id. */
  readonly holderPer: 'attempt' | 'wait';
  /** Most hand-overs of one hold, besides the option `handovers`; Infinity where the block of fences decides. */
  readonly handoversMax: number;
  /** The holder id is the right to release: no message may show it. */
  readonly isHolderSecret: boolean;
  /** What the key should hold, in words, for the error about a key that holds something else. */
  readonly expected: string;
  /** Waiters have no line in Redis: they listen on the public channel and ask again. @default false */
  readonly isWithoutLine?: boolean;
}

/** What holder ids are made of. */
export interface HolderIds {
  /** The session's UUID. */
  readonly session: string;
  /** A number that this session has not used yet. */
  nextNumber(): number;
  /** A random secret. */
  token(): string;
}

/** One lock of a kind, on one server. */
export interface Protocol {
  /** For messages and telemetry: `lock`, `mutex`. */
  readonly kind: string;
  /** The name as the caller gave it. */
  readonly name: string;
  /** The Redis key. */
  readonly key: string;
  /** Local callers with different ones do not wait for each other, and ask separately. @default the key */
  readonly queueKey?: string;
  /** Where the end of a hold is published. */
  readonly channel: string;
  readonly policy: Policy;
  /** A holder id that was never used. */
  newHolder(ids: HolderIds): string;
  acquire(terms: HoldTerms, limits: AcquireLimits): ScriptCall;
  readAcquire(reply: Reply): AcquireAnswer;
  /**
   * `mode` is how guests are told of the release. `hasLine` false: only the lock's own key is named. `wasServed` false:
   * no caller has heard of the hold.
   */
  release(holder: string, mode: PubSubMode | 'nobody', hasLine: boolean, wasServed: boolean): ScriptCall;
  readRelease(reply: Reply): ReleaseAnswer;
  /** Renewals are grouped by this object. */
  readonly renewal: StatementBatch;
  readonly fencing?: Fencing;
  readonly reentry?: Reentry;
}
