/** A participant is a lock library with one set of settings, or a yardstick: what a scenario compares. */
import type { ContendPlan, ContendResult } from '../workers/jobs/job.ts';

/** Releases the key that `take` has acquired. */
export type Release = () => Promise<unknown>;

/** A lease that its library renews until `release` is called. */
export interface RenewedLease {
  /** Whether the library has reported the lease as lost. */
  isLost(): boolean;
  release(): Promise<unknown>;
}

/** A participant with its connections to the servers. */
export interface OpenParticipant {
  /** Waits for the lock. Rejects when the library stops waiting. */
  take(key: string): Promise<Release>;
  /** Contends in a program of its own, in place of calls of `take`. Absent: the benchmark's loop calls `take`. */
  contend?(plan: ContendPlan): Promise<ContendResult>;
  /** The library's own call behind `take` with no closure of the benchmark around it: its heap is measured. */
  acquireUnwrapped?(key: string): Promise<unknown>;
  /** Acquires a lease that the library renews. Absent: the library does not renew. */
  takeRenewed?(key: string, leaseMs: number): Promise<RenewedLease>;
  /** Drops the connections at once. */
  close(): Promise<void>;
}

/** The kinds of servers that participants lock on. */
export type ServerKind = 'redis' | 'postgresql' | 'etcd';

export interface Participant {
  /** The name of the participant on the command line (`--participant`). */
  readonly id: string;
  readonly name: string;
  /** The settings in words, for the table. */
  readonly settings: string;
  readonly role: 'yardstick' | 'holdfast' | 'peer' | 'control';
  /** Absent: Redis. */
  readonly server?: ServerKind;
  readonly client: 'ioredis' | 'node-redis' | 'pg' | 'node:sqlite' | 'node:http' | 'redisson';
  /** Whether the library polls faster than its README says, which makes no difference where nobody waits. */
  readonly isTuned: boolean;
  /** Whether `takeRenewed` exists. */
  readonly canRenew: boolean;
  /** Set for a participant of an earlier commit: the id of the same participant of the present code. */
  readonly beforeOf?: string;
  /**
   * The commands that the library sends, by the names in the server's statistics, each with the share of the counted
   * calls that a client sent: the server counts calls from inside scripts too. Empty for those that are not on Redis.
   */
  readonly sends: Readonly<Record<string, number>>;
  /** How long `open` may take in the slowest process, if longer than usual. */
  readonly openMsMax?: number;
  /** The most processes that it takes part with. */
  readonly processesMax?: number;
  /** What the machine lacks to run the participant, in words; null for nothing. Absent: npm installs all of it. */
  lacks?(): string | null;
  open(port: number): Promise<OpenParticipant>;
  /** Opens on independent servers. Absent: the library has no quorum. */
  openQuorum?(ports: readonly number[]): Promise<OpenParticipant>;
}

/** The words in the tables for a library's two settings. */
export const README = 'as its README';
export const TUNED = '10 ms retry';

/** The lease for libraries that leave its length to the caller: longer than any measurement. */
export const LEASE_MS = 30_000;

/** Retries enough to be endless here, in a number that every library accepts. */
export const RETRIES_ENDLESS = 1_000_000;
export const RETRY_MS_TUNED = 10;
