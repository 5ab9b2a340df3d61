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

/** Where `watch` shows each list of locks. */
interface WatchOutput {
  show(list: LockList): void;
  /** The servers cannot be read now, and why. */
  trouble(message: string): void;
  /** Aborts when the user leaves, or nobody reads the output any more. */
  readonly left: AbortSignal;
  close(): void;
}

export async function watch(prefix: string, flags: WatchFlags): Promise<number> {
  // A wrong command line or password fails here, before the screen is taken over.
  const first = await open(flags);
  const output = process.stdout.isTTY && !flags.json ? new TableOutput(prefix) : new JsonOutput();
  if (typeof first === 'string') output.trouble(first);
  let reader = typeof first === 'string' ? null : first;
  let reading: Promise<void> = Promise.resolve();
  const left = aborted(output.left);
  const read = async (): Promise<void> => {
    if (reader === null) {
      const opened = await open(flags);
      if (typeof opened === 'string') return output.trouble(opened);
      reader = opened;
    }
    output.show(await reader.list(prefix, flags));
  };
  try {
    while (!output.left.aborted) {
      // A server that is down is shown, and asked again.
      reading = read().catch((error: unknown) => output.trouble(toFailure(error).message));
      // The user can leave while a server does not answer.
      await Promise.race([reading, left]);
      await sleep(flags.every, undefined, { signal: output.left }).catch(() => {});
    }
    return EXIT.ok;
  } finally {
    output.close();
    if (reader === null) void reading.then(() => reader?.close());
    else await closeReader(reader);
  }
}

/** A string says why the servers cannot be reached now. */
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

class JsonOutput implements WatchOutput {
  readonly #changes = new LockChanges();
  readonly #leaving = new AbortController();
  readonly #leave = (): void => this.#leaving.abort();
  #lastTrouble: string | null = null;

  constructor() {
    process.once('SIGINT', this.#leave).once('SIGTERM', this.#leave);
    // The reader of the pipe has gone.
    process.stdout.on('error', this.#leave);
  }

  get left(): AbortSignal {
    return this.#leaving.signal;
  }

  show({ locks }: LockList): void {
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

class TableOutput implements WatchOutput {
  readonly #screen = new LiveScreen();
  readonly #prefix: string;
  #list: LockList = { locks: [], isComplete: true };
  #readAt: string | null = null;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get left(): AbortSignal {
    return this.#screen.left;
  }

  show(list: LockList): void {
    this.#list = list;
    this.#readAt = timeOfDay();
    this.#draw([]);
  }

  /** The last list stays on the screen, with the time at which it was read. */
  trouble(message: string): void {
    const since: Line[] = this.#readAt === null ? [] : [[styled('dim', `as it was at ${this.#readAt}:`)]];
    this.#draw([[styled('red', message)], ...since]);
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
