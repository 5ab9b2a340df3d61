/** `npm run bench`: reads the command line, runs the scenarios, prints and writes the results. */
import { relative } from 'node:path';
import { describeMachine } from './measure/machine.ts';
import { beforeRatiosText, lowestRatioText } from './output/before-ratios.ts';
import { writeReport } from './output/report.ts';
import type { Table } from './output/table.ts';
import { terminalText } from './output/terminal.ts';
import { type Arguments, helpText, readArguments } from './run/arguments.ts';
import { pinToOneCore } from './run/pin.ts';
import { Progress } from './run/progress.ts';
import { messageOf } from './run/rounds.ts';
import { startRedis } from './run/servers/redis.ts';
import { SCENARIOS } from './scenarios/scenario-list.ts';

async function main({ isJson, published, rounds, scenarios, selection }: Arguments): Promise<void> {
  const { isQuick, isBeforeRun } = selection;
  const progress = new Progress();
  const { port, pid: serverPid } = await startRedis();
  const tables: Table[] = [];
  const failed: string[] = [];
  for (const scenario of scenarios) {
    // One scenario that fails must not lose an hour of results of the others.
    try {
      const measured = await scenario.measure({ port, serverPid, rounds, progress, ...selection });
      tables.push(...measured);
      progress.clear();
      const print = isBeforeRun ? beforeRatiosText : terminalText;
      if (!isJson) process.stdout.write(measured.map((table) => `${print(table)}\n`).join(''));
    } catch (error) {
      progress.clear();
      process.stderr.write(`${scenario.name}: ${messageOf(error)}\n`);
      failed.push(scenario.name);
    }
  }
  const report = { machine: describeMachine(), isQuick, tables };
  if (isBeforeRun) process.stderr.write(`${lowestRatioText(tables)}\n`);
  else {
    const path = await writeReport(report, failed.length === 0 ? published : 'none');
    process.stderr.write(`written to ${relative(process.cwd(), path)}\n`);
  }
  if (isJson) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  if (failed.length > 0) throw new Error(`not measured: ${failed.join(', ')}`);
}

// An exit of our own, unlike a signal's, ends the servers and removes their folders.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
// A library whose connections were dropped rejects promises that nobody awaits any more.
process.on('unhandledRejection', () => {});
let exitCode = 0;
try {
  const asked = readArguments(SCENARIOS);
  if (asked.isHelp) process.stdout.write(helpText(SCENARIOS));
  else {
    if (asked.isPinned) process.stderr.write(`${pinToOneCore()}\n`);
    await main(asked);
  }
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  exitCode = 1;
}
// Ends connections that some libraries cannot close. The server ends with this process and not before: libraries that
// are still connected would print that it is gone.
process.exit(exitCode);
