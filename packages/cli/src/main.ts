#!/usr/bin/env node
/**
 * The start of the command line, and the end of every failure: one line on standard error and an exit code.
 *
 * In this folder: this file, the grammar (`program.ts`), and what all commands share: options, output, failures, exit
 * codes. The folders below import what they share from here.
 */
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { format } from 'node:util';
import { CommanderError } from 'commander';
import { takeDebugVariable } from './debug-variable.ts';
import { EXIT } from './exit-codes.ts';
import { oneLine, toFailure } from './failure.ts';
import { wordsWithoutLogins } from './logins.ts';
import { printNotice, printNoticeLines, withoutOwnLogins } from './output.ts';
import { buildProgram, hintFor } from './program.ts';

function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return String((manifest as { version: string }).version);
}

function report(error: unknown): void {
  if (error instanceof CommanderError) {
    // Commander has printed the reason. Its exit code is 0 when help or the version was asked for.
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return;
  }
  const { message, exitCode, frames } = toFailure(error);
  printNotice(message);
  printNoticeLines(frames);
  process.exitCode = exitCode;
}

/** Takes a password on the command line out of the list of processes, where every user of the machine could read it. */
function hideLogins(): void {
  const words = process.argv.slice(2);
  const shown = wordsWithoutLogins(words);
  if (shown.some((word, at) => word !== words[at])) process.title = ['holdfast', ...shown].join(' ');
}

/** Warnings of the library and of Node, printed as our own notices are. */
function printWarnings(): void {
  if (process.env['NODE_NO_WARNINGS'] === '1') return;
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    // servers/connection.ts prints this one in words of the command line.
    if ('code' in warning && warning.code === 'HOLDFAST_EVEN_QUORUM') return;
    // The doctor has a finding for this one.
    if ('code' in warning && warning.code === 'HOLDFAST_DEAF' && process.argv[2] === 'doctor') return;
    printNotice(`warning: ${warning.message}`);
  });
}

/** The Redis client prints to the console by itself, and what it prints may contain text from a server. */
function redirectConsole(): void {
  const say = (...words: readonly unknown[]): void =>
    printNotice(`warning: ${oneLine(format(...words)).replace(/^\[(WARN|ERROR)\] /, '')}`);
  console.warn = say;
  console.error = say;
}

/** Exits when the reader of our standard output has gone, as a program does that SIGPIPE ends. */
function handleClosedPipes(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // `watch` has a listener of its own, and leaves in good order.
    if (process.stdout.listenerCount('error') > 1) return;
    if (error.code === 'EPIPE') process.exit(EXIT.signalled + constants.signals.SIGPIPE);
    printNotice(`standard output cannot be written: ${error.message}`);
    process.exit(EXIT.internal);
  });
  // The command of `run` goes on, without our notices.
  process.stderr.on('error', () => {});
}

takeDebugVariable();
hideLogins();
printWarnings();
redirectConsole();
handleClosedPipes();
const program = buildProgram(ownVersion());
for (const command of [program, ...program.commands]) {
  command.exitOverride().configureOutput({
    outputError: (text) => {
      // Before the text is split into lines: a password may contain a line end.
      const [first = '', ...more] = withoutOwnLogins(text)
        .replace(/^error: /, '')
        .trimEnd()
        .split('\n');
      printNotice(first);
      printNoticeLines([...more, ...hintFor(program, command, first)]);
    },
  });
}
await program.parseAsync().catch(report);
