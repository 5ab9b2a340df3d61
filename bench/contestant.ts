/** One way of taking a lock, so that scenarios can run them side by side. */

/** Gives back what was taken. */
export type Release = () => Promise<unknown>;

/** A lease that its library renews by itself until it is released. */
export interface Kept {
  /** Whether the library says that it has lost it. */
  isLost(): boolean;
  release(): Promise<unknown>;
}

export interface Contestant {
  /** Waits for the lock. Rejects when the library gives up waiting. */
  take(key: string): Promise<Release>;
  /** The library's own call behind `take`, with nothing of ours around it: for weighing what it keeps in memory. */
  bare?(key: string): Promise<unknown>;
  /** Takes a lease and lets the library renew it. Absent: it does not renew. */
  keep?(key: string, leaseMs: number): Promise<Kept>;
  /** Drops the connections at once. */
  close(): Promise<void>;
}

/** Who plays: a library with its settings. Opens a contestant wherever it is needed, in whichever process. */
export interface Entrant {
  /** What `--contestant` takes. */
  readonly id: string;
  readonly name: string;
  /** Which settings it plays with, in words for the table. */
  readonly settings: string;
  readonly role: 'yardstick' | 'holdfast' | 'peer' | 'control';
  readonly client: 'ioredis' | 'node-redis';
  /** Polls faster than its README says. Of no use where nobody waits. */
  readonly isTuned: boolean;
  /** Whether its `keep` exists. */
  readonly canKeep: boolean;
  /**
   * The commands it sends, by the names that the server counts, each with the share of the counted calls that were
   * sent: the server also counts what scripts call.
   */
  readonly sends: Readonly<Record<string, number>>;
  open(port: number): Promise<Contestant>;
  /** On independent servers. Absent: it cannot. */
  openQuorum?(ports: readonly number[]): Promise<Contestant>;
}

/** What a library's README and our tables call the two ways of setting it up. */
export const README = 'as its README';
export const TUNED = '10 ms retry';

/** Lease where the library leaves it to the caller. Nothing that is measured lasts as long. */
export const LEASE_MS = 30_000;

/** So many retries are as good as endless here, and every library takes the number. */
export const RETRIES_ENDLESS = 1_000_000;
export const RETRY_MS_TUNED = 10;
