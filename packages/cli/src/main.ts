#!/usr/bin/env node
/** Where the command line begins, and where every failure of it ends: in one line and an exit code. */
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { format } from 'node:util';
import { CommanderError } from 'commander';
import { takeDebugVariable } from './debug-variable.ts';
import { EXIT } from './exit-codes.ts';
import { oneLine, toFailure } from './failure.ts';
import { wordsWithoutLogins } from './logins.ts';
import { discreet, tell, tellMore } from './output.ts';
import { buildProgram, hintFor } from './program.ts';

function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return String((manifest as { version: string }).version);
}

function report(error: unknown): void {
  if (error instanceof CommanderError) {
    // It has said why already. Help and version that were asked for are no failure.
    process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return;
  }
  const { message, exitCode, frames } = toFailure(error);
  tell(message);
  tellMore(frames);
  process.exitCode = exitCode;
}

/** A password on the command line is in the list of processes for all to see, until this. */
function hideLogins(): void {
  const words = process.argv.slice(2);
  const shown = wordsWithoutLogins(words);
  if (shown.some((word, at) => word !== words[at])) process.title = ['holdfast', ...shown].join(' ');
}

/** Warnings of the library and of Node itself, in the form of ours. */
function takeWarnings(): void {
  if (process.env['NODE_NO_WARNINGS'] === '1') return;
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    // Told by us in words of our own.
    if ('code' in warning && warning.code === 'HOLDFAST_EVEN_QUORUM') return;
    tell(`warning: ${warning.message}`);
  });
}

/** What the Redis client says on its own may have words of a server in it. */
function takeConsole(): void {
  const say = (...words: readonly unknown[]): void =>
    tell(`warning: ${oneLine(format(...words)).replace(/^\[(WARN|ERROR)\] /, '')}`);
  console.warn = say;
  console.error = say;
}

/** Whoever read us has gone: nothing that we could still say is heard. */
function heedClosedPipes(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // `watch` leaves in good order.
    if (process.stdout.listenerCount('error') > 1) return;
    if (error.code === 'EPIPE') process.exit(EXIT.signalled + constants.signals.SIGPIPE);
    tell(`standard output cannot be written: ${error.message}`);
    process.exit(EXIT.internal);
  });
  // A command under a lock goes on without our notices.
  process.stderr.on('error', () => {});
}

takeDebugVariable();
hideLogins();
takeWarnings();
takeConsole();
heedClosedPipes();
const program = buildProgram(ownVersion());
for (const command of [program, ...program.commands]) {
  command.exitOverride().configureOutput({
    outputError: (text) => {
      // Before it is cut into lines: a password may have one end in it.
      const [first = '', ...more] = discreet(text)
        .replace(/^error: /, '')
        .trimEnd()
        .split('\n');
      tell(first);
      tellMore([...more, ...hintFor(program, command, first)]);
    },
  });
}
await program.parseAsync().catch(report);
