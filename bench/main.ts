/**
 * Measures holdfast beside the raw clients and the other libraries, in one run, as ratios.
 *
 *     npm run bench -- [--quick] [--scenario <name>]... [--contestant <id>]... [--json]
 */
import { relative } from 'node:path';
import { readArguments } from './arguments.ts';
import { describeMachine } from './machine.ts';
import { writeReport } from './output/report.ts';
import { terminalText } from './output/terminal.ts';
import { PROGRAMME } from './programme.ts';
import { Progress } from './progress.ts';
import { messageOf } from './rounds.ts';
import { startServer } from './server.ts';
import type { Table } from './table.ts';

async function main(): Promise<void> {
  const { isQuick, isJson, isWhole, scenarios, isAsked } = readArguments(PROGRAMME);
  const progress = new Progress();
  const server = await startServer();
  const tables: Table[] = [];
  const failed: string[] = [];
  for (const scenario of scenarios) {
    // An hour's run must not be lost to the last of its scenarios.
    try {
      const played = await scenario.play({ port: server.port, isQuick, progress, isAsked });
      tables.push(...played);
      progress.clear();
      if (!isJson) for (const table of played) process.stdout.write(`${terminalText(table)}\n`);
    } catch (error) {
      progress.clear();
      process.stderr.write(`${scenario.name}: ${messageOf(error)}\n`);
      failed.push(scenario.name);
    }
  }
  const report = { machine: describeMachine(), isQuick, tables };
  const path = await writeReport(report, isWhole && !isQuick && failed.length === 0);
  process.stderr.write(`written to ${relative(process.cwd(), path)}\n`);
  if (isJson) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  if (failed.length > 0) throw new Error(`not measured: ${failed.join(', ')}`);
}

// A library whose connection was dropped may reject promises that nobody holds any more.
process.on('unhandledRejection', () => {});
let exitCode = 0;
try {
  await main();
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  exitCode = 1;
}
// Some libraries keep connections that cannot be closed from outside. The server ends with this process, not before:
// they would print that it is gone.
process.exit(exitCode);
