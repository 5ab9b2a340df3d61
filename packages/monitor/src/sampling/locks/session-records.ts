/** Who the holders are, by the records of their sessions: read by the library's own reader, each every 20 s. */
import type { SessionRecord } from 'holdfast';
import { repeat } from '../pace.ts';
import type { Owner } from './rows.ts';

const READ_EVERY_MS = 20_000;
/** A record is written shortly after the lock, and a server that did not answer is asked again soon. */
const READ_SOON_MS = 2_000;
const READS_SOON = 5;
/** Reads in a second. */
const READS_MAX = 20;
/** Sessions that nobody has asked about for this long are forgotten. */
const FORGET_MS = 120_000;
const SESSIONS_MAX = 20_000;

const UNKNOWN: Owner = { app: null, host: null, pid: null, isGone: false };

interface Entry {
  owner: Owner;
  readAt: number;
  askedAt: number;
  reads: number;
}

export type ReadRecords = (sessions: readonly string[]) => Promise<ReadonlyMap<string, SessionRecord>>;

export class SessionRecords {
  readonly #read: ReadRecords;
  readonly #now: () => number;
  readonly #changed: (session: string) => void;
  readonly #entries = new Map<string, Entry>();
  readonly #stop = new AbortController();

  constructor(read: ReadRecords, now: () => number, changed: (session: string) => void) {
    this.#read = read;
    this.#now = now;
    this.#changed = changed;
  }

  start(): void {
    void repeat(
      () => 1_000,
      () => this.#readSome(),
      this.#stop.signal,
    );
  }

  close(): void {
    this.#stop.abort();
  }

  /** Of a holder `<session>:<number>`; nothing is known of a mutex. */
  ownerOf(holder: string): Owner {
    const colon = holder.indexOf(':');
    return colon <= 0 ? UNKNOWN : this.ofSession(holder.slice(0, colon));
  }

  ofSession(session: string): Owner {
    const entry = this.#entries.get(session);
    if (entry !== undefined) {
      entry.askedAt = this.#now();
      return entry.owner;
    }
    if (this.#entries.size < SESSIONS_MAX) {
      this.#entries.set(session, { owner: UNKNOWN, readAt: 0, askedAt: this.#now(), reads: 0 });
    }
    return UNKNOWN;
  }

  async #readSome(): Promise<void> {
    const now = this.#now();
    const due: string[] = [];
    for (const [session, { readAt, askedAt, owner, reads }] of this.#entries) {
      const everyMs = owner.app === null && reads < READS_SOON ? READ_SOON_MS : READ_EVERY_MS;
      if (now - askedAt > FORGET_MS) this.#entries.delete(session);
      else if (now - readAt >= everyMs) due.push(session);
    }
    // Sessions whose record was never read come first: the page shows a UUID for them.
    due.sort((a, b) => (this.#entries.get(a)?.readAt ?? 0) - (this.#entries.get(b)?.readAt ?? 0));
    const some = due.slice(0, READS_MAX);
    if (some.length === 0) return;
    const found = await this.#read(some).catch(() => null);
    if (found === null) return;
    for (const session of some) this.#keep(session, found.get(session));
  }

  #keep(session: string, record: SessionRecord | undefined): void {
    const entry = this.#entries.get(session);
    if (entry === undefined) return;
    entry.readAt = this.#now();
    entry.reads += 1;
    const before = entry.owner;
    const owner: Owner =
      record === undefined
        ? { ...before, isGone: before.app !== null }
        : { app: record.application, host: record.host, pid: record.pid, isGone: false };
    if (
      owner.app === before.app &&
      owner.host === before.host &&
      owner.pid === before.pid &&
      owner.isGone === before.isGone
    )
      return;
    entry.owner = owner;
    this.#changed(session);
  }
}
