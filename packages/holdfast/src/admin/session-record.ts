/**
 * The record of a session: which application, host and process it is, for operators who look at its locks. A hash of
 * its own beside the locks, written in the background and never waited for; no lock depends on it.
 */
import { hostname } from 'node:os';
import { CallFailure, type Reply, type ScriptCall } from '../clients/client.ts';
import { sessionKey } from '../keys/name.ts';
import { Deadline, type TimerQueue } from '../runtime/timer-queue.ts';
import {
  type AdminReadSessionOutcome,
  adminReadSession,
  sessionForget,
  sessionRecord,
} from '../scripts/generated.ts';
import { read } from '../topologies/server/reading.ts';
import type { QueryAnswer, Topology } from '../topologies/topology.ts';
import { programName } from './program-name.ts';

/** Who a session is. */
export interface SessionRecord {
  /** The option `application` of its `Locks`, or the name of the package or script. */
  readonly application: string;
  readonly host: string;
  readonly pid: number;
}

/** A record outlives a killed process by this long at most. People read records: a minute does no harm. */
const RECORD_TTL_MS = 60_000;

/** Two writes in a row may fail before the record expires. */
const REFRESH_MS: number = RECORD_TTL_MS / 3;

/** Records read at once. */
const READ_MAX = 64;

/** Sends a script to the servers that decide about its key, and gives what each of them answered. */
type AskServers = (call: ScriptCall) => Promise<readonly QueryAnswer[]>;

/**
 * The records of those sessions that have one: three named fields each, one call a session, never rejects. Where the
 * user may not read records, or a server does not answer, there is none.
 */
export async function readSessionRecords(
  sessions: readonly string[],
  ask: AskServers,
): Promise<ReadonlyMap<string, SessionRecord>> {
  const records = new Map<string, SessionRecord>();
  for (let i = 0; i < sessions.length; i += READ_MAX) {
    const reading = sessions.slice(i, i + READ_MAX).map(async (session) => {
      const record = firstRecord(await ask(adminReadSession.call({ record: sessionKey(session) })));
      if (record !== null) records.set(session, record);
    });
    await Promise.all(reading);
  }
  return records;
}

/** In a quorum a record is on those servers that its session could reach: one of them is enough. */
function firstRecord(answers: readonly QueryAnswer[]): SessionRecord | null {
  for (const { reply } of answers) {
    const found = outcomeOf(reply);
    if (found?.is !== 'FOUND') continue;
    return { application: found.application, host: found.host, pid: Number(found.pid) };
  }
  return null;
}

function outcomeOf(reply: Reply | CallFailure): AdminReadSessionOutcome | null {
  const outcome = reply instanceof CallFailure ? reply : read(reply, () => adminReadSession.decode(reply));
  return outcome instanceof CallFailure ? null : outcome;
}

export interface SessionRecordTerms {
  readonly session: string;
  /** Null: the name of the package or script, which is looked up when the record is first written. */
  readonly application: string | null;
  readonly callTimeoutMs: number;
}

/** Keeps the record of one session written, from its first hold or place in a line until it ends. */
export class SessionRecordWriter {
  readonly #timers: TimerQueue;
  readonly #topology: Topology;
  readonly #terms: SessionRecordTerms;
  /** Never keeps the process alive: a process with nothing else to do holds no lock. */
  readonly #deadline: Deadline = new Deadline(() => void this.#write(), false);
  #state: 'unwritten' | 'kept' | 'ended' = 'unwritten';
  #written: ScriptCall | null = null;

  constructor(timers: TimerQueue, topology: Topology, terms: SessionRecordTerms) {
    this.#timers = timers;
    this.#topology = topology;
    this.#terms = terms;
  }

  /** Writes the record soon, and again while the session lives. The acquisition that calls this does not wait. */
  begin(): void {
    if (this.#state !== 'unwritten') return;
    this.#state = 'kept';
    this.#timers.setIn(this.#deadline, 0);
  }

  /** Deletes the record: the session ends in good order. */
  async remove(): Promise<void> {
    const wasKept = this.#state === 'kept';
    this.stop();
    if (!wasKept) return;
    const { session, callTimeoutMs } = this.#terms;
    // Where no server answers, the record expires.
    await this.#topology.query(() => sessionForget.call({ record: sessionKey(session) }), callTimeoutMs);
  }

  /** Sends nothing any more and lets the record expire. */
  stop(): void {
    this.#state = 'ended';
    this.#timers.cancel(this.#deadline);
  }

  async #write(): Promise<void> {
    const call = this.#call();
    if (call === null) return;
    const answers = await this.#topology.query(() => call, this.#terms.callTimeoutMs);
    // An outage is not reported: the next write follows, and nothing depends on the record. A user who may not write the
    // record is not tried again: each refusal would stand in the server's ACL LOG.
    if (answers.length > 0 && answers.every(({ reply }) => isRefused(reply))) this.stop();
    if (this.#state === 'kept') this.#timers.setIn(this.#deadline, REFRESH_MS);
  }

  /** Null where the runtime does not tell who the process is: Deno without `--allow-sys`. There is no record then. */
  #call(): ScriptCall | null {
    if (this.#written !== null) return this.#written;
    const { session, application } = this.#terms;
    try {
      this.#written = sessionRecord.call({
        record: sessionKey(session),
        application: application ?? programName(),
        host: hostname(),
        pid: process.pid,
        ttlMs: RECORD_TTL_MS,
      });
    } catch {
      return null;
    }
    return this.#written;
  }
}

function isRefused(reply: Reply | CallFailure): boolean {
  return reply instanceof CallFailure && reply.word === 'NOPERM';
}
