/**
 * The audit trail: a stream in Redis, two entries for each action. `asked` is written before anything is done; if that fails,
 * nothing is done. In a quorum it is written to every server, and read from all, joined by the id of the action.
 *
 * In this folder: the trail, its entries, and the releases by force that it tells of. Only `http/`, `monitor.ts` and
 * `index.ts` import from here.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { AuditEntry, AuditPage } from '../api/types.ts';
import { inTime } from '../time-limit.ts';
import { type AuditFields, joinEntries, readStream, type StreamEntry, timeOf } from './audit-entries.ts';
import { ForcedReleases, type HoldEnd } from './forced-releases.ts';

/** An ioredis `Redis` or `Cluster` fits. */
export interface AuditRedis {
  call(command: string, ...args: string[]): Promise<unknown>;
}

const AUDIT_KEY = 'holdfast_audit';

/** Entries that are kept, two for each action. */
const KEPT = 10_000;
/** For one page. */
const ENTRIES_READ = 200;
const CALL_MS_MAX = 5_000;
export const REASON_MAX = 500;

/** What an operator is about to do. */
export interface AuditedAction {
  readonly action: AuditEntry['action'];
  readonly subject: string;
  readonly holder?: string | undefined;
  readonly fence?: number | null | undefined;
  readonly by: string;
  readonly via: 'page' | 'cli' | 'signal';
  readonly address?: string | null | undefined;
  readonly reason: string;
}

export class AuditTrail {
  readonly #readers: readonly AuditRedis[];
  readonly #writers: readonly AuditRedis[];
  readonly #forced = new ForcedReleases();
  readonly #last = new Map<AuditRedis, string>();

  /** One Redis, or the servers of a quorum. */
  constructor(readers: readonly AuditRedis[], writers: readonly AuditRedis[] = readers) {
    this.#readers = readers;
    this.#writers = writers;
  }

  /** Resolves to the id of the action. Rejects when it could not be written: then nothing must be done. */
  async ask(action: AuditedAction): Promise<string> {
    const id = randomUUID();
    const times = await this.#write({
      id,
      phase: 'asked',
      action: action.action,
      lock: action.subject,
      holder: action.holder ?? '',
      fence: action.fence == null ? '' : String(action.fence),
      by: action.by,
      via: action.via,
      host: hostname(),
      address: action.address ?? '',
      reason: action.reason.slice(0, REASON_MAX),
      result: '',
    });
    if (action.action === 'release' && action.holder !== undefined)
      this.#forced.asked(id, action.subject, action.holder, Math.min(...times));
    return id;
  }

  /** Says how it ended. Rejects when that could not be written; the action itself is done. */
  async done(id: string, result: string): Promise<void> {
    this.#forced.done(id, result, null);
    const times = await this.#write({ id, phase: 'done', result: result.slice(0, REASON_MAX) });
    this.#forced.done(id, result, Math.max(...times));
  }

  /** Resolves to when it was written, by the clock of each server that has it. */
  async #write(fields: AuditFields): Promise<number[]> {
    const words = Object.entries(fields).flat();
    const writing = this.#writers.map((redis) =>
      limited(redis.call('XADD', AUDIT_KEY, 'MAXLEN', '~', String(KEPT), '*', ...words)),
    );
    const outcomes = await Promise.allSettled(writing);
    const failed = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    const needed = Math.floor(this.#writers.length / 2) + 1;
    if (this.#writers.length - failed.length >= needed)
      return outcomes.flatMap((one) => (one.status === 'fulfilled' ? [timeOf(String(one.value))] : []));
    const [first] = failed;
    const why = first instanceof Error ? first.message : String(first);
    throw new Error(`the audit trail ${AUDIT_KEY} could not be written: ${why}`, { cause: first });
  }

  /** The actions of 200 entries, about a hundred, the newest first. `before` is `next` of the page before. */
  async page(before: string | null): Promise<AuditPage> {
    const count = String(ENTRIES_READ);
    const from = before === null ? '+' : `(${before}`;
    const [replies, later] = await Promise.all([
      this.#readAll((redis) => redis.call('XREVRANGE', AUDIT_KEY, from, '-', 'COUNT', count)),
      // An action belongs to the page where it was asked for; its end may stand in the page before.
      before === null
        ? []
        : this.#readAll((redis) => redis.call('XRANGE', AUDIT_KEY, before, '+', 'COUNT', count)),
    ]);
    const next = cutOf(replies);
    const older = replies.flatMap(readStream);
    const newer = later.flatMap(readStream);
    const told = new Set(newer.filter((entry) => !isEnd(entry)).map(({ fields }) => fields['id']));
    const asked = older.filter(
      (entry) =>
        !isEnd(entry) && !told.has(entry.fields['id']) && (next === null || !isBefore(entry.at, next)),
    );
    return { entries: joinEntries([...asked, ...[...older, ...newer].filter(isEnd)]), next };
  }

  /** Entries from that moment on, the oldest first. */
  async since(time: number): Promise<AuditEntry[]> {
    const from = String(Math.max(0, Math.floor(time)));
    const replies = await this.#readAll((redis) => redis.call('XRANGE', AUDIT_KEY, from, '+'));
    return joinEntries(replies.flatMap(readStream)).reverse();
  }

  /** Of a quorum one answer is enough. */
  async #readAll(ask: (redis: AuditRedis) => Promise<unknown>): Promise<unknown[]> {
    const outcomes = await Promise.allSettled(this.#readers.map((redis) => limited(ask(redis))));
    const read = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const [first] = outcomes;
    if (read.length === 0 && first?.status === 'rejected') throw first.reason;
    return read;
  }

  /** Reads what is new, for `takeForced`. Never rejects: a trail that cannot be read says nothing. */
  async readNew(): Promise<void> {
    await Promise.allSettled(
      this.#readers.map(async (redis) => {
        const last = this.#last.get(redis) ?? String(Date.now() - 60_000);
        const reply = await limited(
          redis.call('XRANGE', AUDIT_KEY, last.includes('-') ? `(${last}` : last, '+', 'COUNT', '500'),
        );
        // Also past what is no entry of ours, or 500 of that would end the reading.
        const newest = Array.isArray(reply) ? idOf(reply.at(-1)) : null;
        if (newest !== null) this.#last.set(redis, newest);
        for (const entry of readStream(reply)) this.#note(entry);
      }),
    );
  }

  /** Whether an operator took that lock away. One release answers for one end on each server. */
  takeForced(end: HoldEnd): boolean {
    return this.#forced.take(end);
  }

  #note(entry: StreamEntry): void {
    const { id = '', action, lock = '', holder = '', result = '' } = entry.fields;
    if (isEnd(entry)) this.#forced.done(id, result, timeOf(entry.at));
    else if (action === 'release') this.#forced.asked(id, lock, holder, timeOf(entry.at));
  }
}

/**
 * Down to where all servers of a quorum have been read: what is older may be on one that was not read so far. Null: there
 * is nothing older. Entries of another form count too, so the replies are looked at as they came.
 */
function cutOf(replies: readonly unknown[]): string | null {
  let cut: string | null = null;
  for (const reply of replies) {
    if (!Array.isArray(reply) || reply.length < ENTRIES_READ) continue;
    const last = idOf(reply.at(-1));
    if (last !== null && (cut === null || isBefore(cut, last))) cut = last;
  }
  return cut;
}

/** The id of one entry of a reply, whatever else the entry has. */
function idOf(entry: unknown): string | null {
  return Array.isArray(entry) ? String(entry[0]) : null;
}

function isEnd({ fields }: StreamEntry): boolean {
  return fields['phase'] === 'done';
}

function isBefore(a: string, b: string): boolean {
  const [aMs = 0, aSeq = 0] = a.split('-').map(Number);
  const [bMs = 0, bSeq = 0] = b.split('-').map(Number);
  return aMs === bMs ? aSeq < bSeq : aMs < bMs;
}

function limited(work: Promise<unknown>): Promise<unknown> {
  const late = (): Error => new Error(`no answer within ${CALL_MS_MAX / 1000} s`);
  return inTime(work, { limitMs: CALL_MS_MAX, late });
}
