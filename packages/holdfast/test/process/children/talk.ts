/** A child's side of the conversation with its test: lines of JSON out, words in, and anything that went wrong. */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { ExitDelay } from '../../support/processes/exit-delay.ts';

/** What every child may say, whatever else it does. */
export interface TroubleLine {
  /** A warning of the process, or an error that nobody handled. */
  readonly trouble?: string;
  /** The last word: how long the process lived on after `say({ leaving: true })`, by turns of its own. */
  readonly leftAfterMs?: number;
}

/** Written before it returns, so that it is said even when the process ends right after. */
export function say(line: unknown): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** The task as the test gave it to `startChild`. */
export function readTask<Task>(): Task {
  // What a test says is agreed with this file's caller, not checked here.
  return JSON.parse(process.argv[2] ?? '{}') as Task;
}

/** Says what should never happen in any process that uses locks. */
export function reportTrouble(): void {
  const report = (what: string, error: Error): void => {
    say({ trouble: `${what}: ${error.stack ?? error.message}` });
    process.exitCode = 1;
  };
  process.on('warning', (warning) => report('warning', warning));
  process.on('unhandledRejection', (reason) => report('unhandledRejection', toError(reason)));
  process.on('uncaughtExceptionMonitor', (error) => report('uncaughtException', error));
}

/** Nothing is left to do: from here on only a leak keeps the process. */
export function leave(): void {
  const exitDelay = new ExitDelay();
  process.once('exit', () => say({ leftAfterMs: exitDelay.ms }));
  say({ leaving: true });
}

const heard: string[] = [];
let hear: ((word: string) => void) | null = null;
let isListening = false;

/** Resolves with the next word from the test. Only while somebody waits for one does it keep the process. */
export function nextWord(): Promise<string> {
  if (!isListening) listen();
  const word = heard.shift();
  if (word !== undefined) return Promise.resolve(word);
  process.stdin.ref();
  return new Promise((resolve) => {
    hear = resolve;
  });
}

function listen(): void {
  isListening = true;
  createInterface({ input: process.stdin }).on('line', (text) => {
    const word = String(JSON.parse(text));
    const resolve = hear;
    hear = null;
    process.stdin.unref();
    if (resolve === null) heard.push(word);
    else resolve(word);
  });
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
