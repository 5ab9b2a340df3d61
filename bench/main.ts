/**
 * Measures holdfast beside the raw client, in one run, as ratios.
 *
 *     npm run bench -- [--quick] [--scenario one-caller|waiters] [--json]
 */
import { parseArgs } from 'node:util';
import type { Contestant } from './contestant.ts';
import { holdfast } from './contestants/holdfast.ts';
import { rawIoredis, rawNodeRedis } from './contestants/raw.ts';
import { oneCallerTable, waitersTable } from './report.ts';
import { oneCaller } from './scenarios/one-caller.ts';
import { waiters } from './scenarios/waiters.ts';
import { startServer } from './server.ts';

const SCENARIOS = ['one-caller', 'waiters'] as const;
type Scenario = (typeof SCENARIOS)[number];

function isScenario(name: string): name is Scenario {
  return (SCENARIOS as readonly string[]).includes(name);
}

function readArguments(): { isQuick: boolean; isJson: boolean; scenarios: readonly Scenario[] } {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      scenario: { type: 'string', multiple: true, default: [...SCENARIOS] },
    },
  });
  const unknown = values.scenario.find((name) => !isScenario(name));
  if (unknown !== undefined)
    throw new Error(`expected a scenario of ${SCENARIOS.join(', ')}, got ${unknown}`);
  return { isQuick: values.quick, isJson: values.json, scenarios: values.scenario.filter(isScenario) };
}

async function closeAll(contestants: readonly Contestant[]): Promise<void> {
  for (const contestant of contestants) await contestant.close();
}

async function main(): Promise<void> {
  const { isQuick, isJson, scenarios } = readArguments();
  await using server = await startServer();
  const { port } = server;
  const results: Record<string, unknown> = {};
  const say = (text: string): void => void (isJson ? process.stderr : process.stdout).write(`${text}\n`);

  if (scenarios.includes('one-caller')) {
    process.stderr.write('one caller …\n');
    const groups = [
      [
        await rawIoredis(port),
        await holdfast(port, { client: 'ioredis', kind: 'mutex' }),
        await holdfast(port, { client: 'ioredis', kind: 'lock' }),
      ],
      [
        await rawNodeRedis(port),
        await holdfast(port, { client: 'node-redis', kind: 'mutex' }),
        await holdfast(port, { client: 'node-redis', kind: 'lock' }),
      ],
    ];
    const rows = await oneCaller(groups, isQuick ? { rounds: 5, pairs: 1_000 } : { rounds: 9, pairs: 4_000 });
    await closeAll(groups.flat());
    results['one-caller'] = rows;
    say(oneCallerTable(rows));
  }

  if (scenarios.includes('waiters')) {
    process.stderr.write('100 waiters …\n');
    const contestants = [
      await holdfast(port, { client: 'ioredis', kind: 'lock', options: { handovers: 0 } }),
      await holdfast(port, { client: 'ioredis', kind: 'lock' }),
      await holdfast(port, { client: 'ioredis', kind: 'mutex' }),
      await holdfast(port, { client: 'node-redis', kind: 'lock' }),
    ];
    const plan = { waiters: 100, rounds: isQuick ? 3 : 7, roundMs: isQuick ? 500 : 1_500 };
    const rows = await waiters(port, contestants, plan);
    await closeAll(contestants);
    results['waiters'] = rows;
    say(waitersTable(rows, plan.waiters));
  }
  if (isJson) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
}

await main();
