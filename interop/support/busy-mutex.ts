/** Processes of ours that keep one mutex busy until they are told to stop: none is ever without a wish. */
import { statSync } from 'node:fs';
import { waitFor } from '../../packages/holdfast/test/support/wait-for.ts';
import { readTurns, type Turn } from './journal.ts';
import type { Participant } from './participant.ts';

const SECTION_MS = 2;
/** Several in each process: the mutex passes from caller to caller, and is free for no longer than a message takes. */
const CALLERS = 5;
/** Longer than any test lasts: the request to stop ends it. */
const DURATION_MS = 3_600_000;
/** About a hundred turns in the journal. */
const SWING_BYTES = 6_000;
/** Ours are not told of a foreign release, and sleep for seconds before they look. */
const SWING_LIMIT_MS = 60_000;

export class BusyMutex {
  readonly name: string;
  readonly #participants: readonly Participant[];
  readonly #journal: string;
  readonly #contending: Promise<unknown>;

  constructor(participants: readonly Participant[], name: string, journal: string) {
    this.name = name;
    this.#participants = participants;
    this.#journal = journal;
    const request = { kind: 'mutex', name, journal, sectionMs: SECTION_MS, pauseMs: 0 } as const;
    this.#contending = Promise.all(
      participants.map((participant) => {
        const { who } = participant;
        return participant.request(
          'contend',
          { ...request, durationMs: DURATION_MS, threads: CALLERS, who },
          DURATION_MS,
        );
      }),
    );
    // Told by `stop`.
    this.#contending.catch(() => {});
  }

  /** Resolves when ours have had many turns more: they are in full swing, as if nobody else had ever come. */
  async untilInFullSwing(): Promise<void> {
    const before = this.#journalBytes();
    await waitFor(() => this.#journalBytes() - before > SWING_BYTES, {
      what: `the turns of ours on ${this.name}`,
      limitMs: SWING_LIMIT_MS,
    });
  }

  /** Ends it. The turns of ours; whoever else was in between wrote no journal. */
  async stop(): Promise<readonly Turn[]> {
    await Promise.all(this.#participants.map((participant) => participant.request('stop', {})));
    await this.#contending;
    return readTurns(this.#journal);
  }

  #journalBytes(): number {
    return statSync(this.#journal, { throwIfNoEntry: false })?.size ?? 0;
  }
}
