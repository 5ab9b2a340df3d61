/** `holdfast watch`: a live table on a terminal, one JSON object a line in a pipe. */
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT } from '../exit-codes.ts';
import { toFailure } from '../failure.ts';
import { LiveScreen } from '../live-screen.ts';
import { LockChanges } from '../locks/lock-changes.ts';
import { type LockList, LockReader, type ReaderFlags } from '../locks/lock-reader.ts';
import { LOCK_COLUMNS } from '../locks/lock-view.ts';
import { type Line, printJson, styled } from '../output.ts';
import { closeInTime } from '../servers/locks.ts';
import { renderTable } from '../table.ts';

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
  // What no waiting can mend (a wrong address, a wrong password) is told before the terminal is taken.
  const first = await open(flags);
  const show = process.stdout.isTTY && !flags.json ? new TableShow(prefix) : new LineShow();
  if (typeof first === 'string') show.trouble(first);
  let reader = typeof first === 'string' ? null : first;
  let looked: Promise<void> = Promise.resolve();
  const left = aborted(show.left);
  const look = async (): Promise<void> => {
    if (reader === null) {
      const opened = await open(flags);
      if (typeof opened === 'string') return show.trouble(opened);
      reader = opened;
    }
    show.tell(await reader.list(prefix, flags));
  };
  try {
    while (!show.left.aborted) {
      // A server that is away for a while is something to see, not a reason to stop looking.
      looked = look().catch((error: unknown) => show.trouble(toFailure(error).message));
      // One that does not answer does not keep a person who wants to leave.
      await Promise.race([looked, left]);
      await sleep(flags.every, undefined, { signal: show.left }).catch(() => {});
    }
    return EXIT.ok;
  } finally {
    show.close();
    if (reader === null) void looked.then(() => reader?.close());
    else await closeReader(reader);
  }
}

/** Why the servers cannot be reached now, when they cannot. */
async function open(flags: WatchFlags): Promise<LockReader | string> {
  try {
    return await LockReader.open(flags);
  } catch (error) {
    const { exitCode, message } = toFailure(error);
    if (exitCode === EXIT.unreachable) return message;
    throw error;
  }
}

async function closeReader(reader: LockReader): Promise<void> {
  await closeInTime(reader.locks);
  await reader.close();
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

class LineShow implements Show {
  readonly #changes = new LockChanges();
  readonly #leaving = new AbortController();
  readonly #leave = (): void => this.#leaving.abort();
  #lastTrouble: string | null = null;

  constructor() {
    process.once('SIGINT', this.#leave).once('SIGTERM', this.#leave);
    // Whoever read us has gone.
    process.stdout.on('error', this.#leave);
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
  readonly #prefix: string;
  #list: LockList = { locks: [], isComplete: true };
  #seenAt: string | null = null;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get left(): AbortSignal {
    return this.#screen.left;
  }

  tell(list: LockList): void {
    this.#list = list;
    this.#seenAt = timeOfDay();
    this.#draw([]);
  }

  /** What was seen last stays, with the time at which it was true. */
  trouble(message: string): void {
    const seen: Line[] = this.#seenAt === null ? [] : [[styled('dim', `as it was at ${this.#seenAt}:`)]];
    this.#draw([[styled('red', message)], ...seen]);
  }

  close(): void {
    this.#screen.close();
  }

  #draw(trouble: readonly Line[]): void {
    const { locks, isComplete } = this.#list;
    const of = this.#prefix === '' ? '' : ` of ${this.#prefix}*`;
    const count = `${locks.length}${isComplete ? '' : '+'} held${of}`;
    const title: Line = [styled('bold', 'holdfast'), ` ${count}, ${timeOfDay()}, q to leave`];
    const { columns, rows } = this.#screen;
    const table = locks.length === 0 ? [] : renderTable(locks, LOCK_COLUMNS, columns);
    const room = rows - 3 - trouble.length;
    const hidden = table.length - room;
    const more: Line = [styled('dim', `… and ${hidden + 1} more`)];
    const body = hidden > 0 ? [...table.slice(0, room - 1), more] : table;
    this.#screen.draw([title, ...trouble, '', ...body]);
  }
}

function timeOfDay(): string {
  return new Date().toTimeString().slice(0, 8);
}
