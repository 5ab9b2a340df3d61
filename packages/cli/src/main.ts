#!/usr/bin/env node
/** Where the command line begins, and where every failure of it ends: in one line and an exit code. */
import { readFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { EXIT } from './exit-codes.ts';
import { toFailure } from './failure.ts';
import { tell, tellMore } from './output.ts';
import { withoutLogins } from './printable.ts';
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
  const words = ['holdfast', ...process.argv.slice(2)];
  const shown = words.map((word) => withoutLogins(word));
  if (shown.some((word, at) => word !== words[at])) process.title = shown.join(' ');
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

hideLogins();
takeWarnings();
const program = buildProgram(ownVersion());
for (const command of [program, ...program.commands]) {
  command.exitOverride().configureOutput({
    outputError: (text) => {
      const [first = '', ...more] = text
        .replace(/^error: /, '')
        .trimEnd()
        .split('\n');
      tell(first);
      tellMore([...more, ...hintFor(program, command, first)]);
    },
  });
}
await program.parseAsync().catch(report);
