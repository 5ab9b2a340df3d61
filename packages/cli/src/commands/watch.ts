/** `holdfast watch`: a live table on a terminal, one JSON object a line in a pipe. */
import { setTimeout as sleep } from 'node:timers/promises';
import { toFailure } from '../failure.ts';
import { LiveScreen } from '../live-screen.ts';
import { LockChanges } from '../locks/lock-changes.ts';
import { type LockList, LockReader, type ReaderFlags } from '../locks/lock-reader.ts';
import { LOCK_COLUMNS } from '../locks/lock-view.ts';
import { paintFor, printJson, renderTable } from '../output.ts';

export interface WatchFlags extends ReaderFlags {
  readonly every: number;
  readonly limit: number;
  readonly all?: boolean;
}

/** Shows one look after the other. */
interface Show {
  tell(list: LockList): void;
  trouble(message: string): void;
  /** Aborts when the person has seen enough. */
  readonly left: AbortSignal;
  close(): void;
}

export async function watch(prefix: string, flags: WatchFlags): Promise<number> {
  const reader = await LockReader.open(flags);
  const show = process.stdout.isTTY && !flags.json ? new TableShow(prefix) : new LineShow();
  try {
    while (!show.left.aborted) {
      try {
        show.tell(await reader.list(prefix, flags));
      } catch (error) {
        // A server that is away for a while is something to see, not a reason to stop looking.
        show.trouble(toFailure(error).message);
      }
      await sleep(flags.every, undefined, { signal: show.left }).catch(() => {});
    }
    return 0;
  } finally {
    show.close();
    await reader.close();
  }
}

class LineShow implements Show {
  readonly #changes = new LockChanges();
  readonly #leaving = new AbortController();
  readonly #leave = (): void => this.#leaving.abort();
  #lastTrouble: string | null = null;

  constructor() {
    process.once('SIGINT', this.#leave).once('SIGTERM', this.#leave);
    // Whoever read us has gone.
    process.stdout.once('error', this.#leave);
  }

  get left(): AbortSignal {
    return this.#leaving.signal;
  }

  tell({ locks }: LockList): void {
    this.#lastTrouble = null;
    const at = new Date().toISOString();
    for (const { event, lock } of this.#changes.next(locks)) printJson({ at, event, lock });
  }

  trouble(message: string): void {
    if (message === this.#lastTrouble) return;
    this.#lastTrouble = message;
    printJson({ at: new Date().toISOString(), event: 'trouble', message });
  }

  close(): void {
    process.off('SIGINT', this.#leave).off('SIGTERM', this.#leave);
  }
}

class TableShow implements Show {
  readonly #screen = new LiveScreen();
  readonly #paint = paintFor(process.stdout);
  readonly #prefix: string;
  #list: LockList = { locks: [], isComplete: true };

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get left(): AbortSignal {
    return this.#screen.left;
  }

  tell(list: LockList): void {
    this.#list = list;
    this.#draw(null);
  }

  trouble(message: string): void {
    this.#draw(message);
  }

  close(): void {
    this.#screen.close();
  }

  #draw(trouble: string | null): void {
    const { locks, isComplete } = this.#list;
    const of = this.#prefix === '' ? '' : ` of ${this.#prefix}*`;
    const count = `${locks.length}${isComplete ? '' : '+'} held${of}`;
    const title = `${this.#paint('bold', 'holdfast')} ${count}, ${new Date().toTimeString().slice(0, 8)}, q to leave`;
    const { columns, rows } = this.#screen;
    const table = locks.length === 0 ? [] : renderTable(locks, LOCK_COLUMNS, this.#paint, columns);
    const room = rows - 3;
    const hidden = table.length - room;
    const body =
      hidden > 0 ? [...table.slice(0, room - 1), this.#paint('dim', `… and ${hidden + 1} more`)] : table;
    this.#screen.draw([title, ...(trouble === null ? [] : [this.#paint('red', trouble)]), '', ...body]);
  }
}
