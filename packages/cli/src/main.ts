#!/usr/bin/env node
/** Where the command line begins, and where every failure of it ends: in one line and an exit code. */
import { readFileSync } from 'node:fs';
import { CommanderError } from 'commander';
import { EXIT } from './exit-codes.ts';
import { toFailure } from './failure.ts';
import { buildProgram } from './program.ts';

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
  const { message, exitCode } = toFailure(error);
  process.stderr.write(`holdfast: ${message}\n`);
  process.exitCode = exitCode;
}

const program = buildProgram(ownVersion());
for (const command of [program, ...program.commands]) {
  command.exitOverride().configureOutput({
    outputError: (text, write) => write(`holdfast: ${text.replace(/^error: /, '')}`),
  });
}
await program.parseAsync().catch(report);
