/**
 * Who a session is, in words, for those who look at its locks from outside: a key of its own beside the locks,
 * written in the background and never waited for. A lock does not depend on it in any way.
 */
import { hostname } from 'node:os';
import { Deadline, type TimerQueue } from '../runtime/timer-queue.ts';
import { sessionForget, sessionRecord } from '../scripts/generated.ts';
import type { Topology } from '../topologies/topology.ts';

/** A record outlives a killed process by this long at most. It is read by people: a minute does no harm. */
const RECORD_TTL_MS = 60_000;

/** Two may fail before the record is gone. */
const REFRESH_MS: number = RECORD_TTL_MS / 3;

/** Not under the prefix of any `Locks`: a session is one of a kind, and who looks may know no prefix. */
function sessionKey(session: string): string {
  return `holdfast_session:${session}`;
}

export interface SessionRecordTerms {
  readonly session: string;
  readonly application: string;
  readonly callTimeoutMs: number;
}

export class SessionRecord {
  readonly #timers: TimerQueue;
  readonly #topology: Topology;
  readonly #terms: SessionRecordTerms;
  /** It never keeps a process alive: who has nothing else to do has nothing to be asked about. */
  readonly #deadline: Deadline = new Deadline(() => void this.#write(), false);
  #state: 'unwritten' | 'kept' | 'ended' = 'unwritten';

  constructor(timers: TimerQueue, topology: Topology, terms: SessionRecordTerms) {
    this.#timers = timers;
    this.#topology = topology;
    this.#terms = terms;
  }

  /** From now on the record is kept. The acquisition that calls this is not made to wait for it. */
  begin(): void {
    if (this.#state !== 'unwritten') return;
    this.#state = 'kept';
    this.#timers.setIn(this.#deadline, 0);
  }

  /** The session ends in good order: its record goes with it. */
  async remove(): Promise<void> {
    const wasKept = this.#state === 'kept';
    this.stop();
    if (!wasKept) return;
    const { session, callTimeoutMs } = this.#terms;
    // An answer that does not come is made up for by the expiry.
    await this.#topology.query(() => sessionForget.call({ record: sessionKey(session) }), callTimeoutMs);
  }

  /** Nothing is sent any more; the record expires. */
  stop(): void {
    this.#state = 'ended';
    this.#timers.cancel(this.#deadline);
  }

  async #write(): Promise<void> {
    const { session, application, callTimeoutMs } = this.#terms;
    const call = sessionRecord.call({
      record: sessionKey(session),
      application,
      host: hostname(),
      pid: process.pid,
      ttlMs: RECORD_TTL_MS,
    });
    // A refusal or an outage is not worth more than the next try: nothing depends on the record.
    await this.#topology.query(() => call, callTimeoutMs);
    if (this.#state === 'kept') this.#timers.setIn(this.#deadline, REFRESH_MS);
  }
}
