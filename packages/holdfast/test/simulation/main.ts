/** `npm run simulate`: plays seeds, and tells the history of the first that fails. */
import { parseArgs } from 'node:util';
import { loadScriptEngine } from '../../../testing/src/lua/script-engine.ts';
import { ONCE_BUGS } from './once/once-bugs.ts';
import { playOnce } from './once/once-scenario.ts';
import type { Outcome } from './outcome.ts';
import { PLANTED_BUGS } from './planted/catalogue.ts';
import { play as playLocks } from './scenario.ts';
import { drawTerms } from './terms.ts';
import { drawFaults, FAULTS, type Fault } from './world/fault-selection.ts';
import { Prng } from './world/prng.ts';

const LINES_MAX = 400;

const USAGE = `npm run simulate -- [options]   plays seeds, and tells the history of the first that breaks a rule

  --seeds <n>      how many seeds to play (1000)
  --from <n>       the first of them (1)
  --seed <n>       plays one seed and tells its history
  --nodes <n>      how many servers the world has (1)
  --fault <name>   only seeds that turn this fault on
  --bug <name>     plants a bug, which a seed should find
  --once           the world of \`once\` instead of that of locks
  --all            goes on after a seed that breaks a rule
  --whole          tells the whole history, and not its last ${LINES_MAX} lines
`;

/** The command was called in a wrong way: its words are enough. */
class UsageError extends Error {}

function integer(text: string | undefined, name: string, fallback: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new UsageError(`expected --${name} to be a whole number of at least 1, got ${text}`);
  return value;
}

function tell({ seed, title, verdicts, lines, hash }: Outcome, isWhole: boolean): void {
  console.log(`\nseed ${seed}: ${title}`);
  const shown = isWhole ? lines : lines.slice(-LINES_MAX);
  if (shown.length < lines.length) console.log(`(the last ${LINES_MAX} of ${lines.length} lines)`);
  for (const line of shown) console.log(line);
  for (const { rule, atMs, text } of verdicts)
    console.log(`BROKEN ${rule} at ${atMs.toFixed(3)} ms: ${text}`);
  console.log(`history ${hash}`);
}

/** Which faults a seed turns on. */
function faultsOf(seed: number, nodes: number): ReadonlySet<Fault> {
  const prng = new Prng(seed);
  drawTerms(prng, nodes);
  return drawFaults(prng, nodes).faults;
}

function isParseArgsError(error: unknown): error is Error {
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string' },
      from: { type: 'string' },
      seed: { type: 'string' },
      nodes: { type: 'string' },
      bug: { type: 'string' },
      fault: { type: 'string' },
      whole: { type: 'boolean' },
      all: { type: 'boolean' },
      once: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return console.log(USAGE);
  const play = values.once === true ? playOnce : playLocks;
  const bugs = values.once === true ? ONCE_BUGS : PLANTED_BUGS;
  const engine = await loadScriptEngine();
  const bug = bugs.find(({ name }) => name === values.bug);
  if (values.bug !== undefined && bug === undefined) {
    throw new UsageError(
      `expected --bug among ${bugs.map(({ name }) => name).join(', ')}, got ${values.bug}`,
    );
  }
  const fault = FAULTS.find((name) => name === values.fault);
  if (values.fault !== undefined && fault === undefined) {
    throw new UsageError(`expected --fault among ${FAULTS.join(', ')}, got ${values.fault}`);
  }
  const nodes = integer(values.nodes, 'nodes', bug?.nodes ?? 1);
  const shared = { engine, nodes, ...(bug === undefined ? {} : { bug }) };
  if (values.seed !== undefined) {
    const outcome = await play({ ...shared, seed: integer(values.seed, 'seed', 1), isTold: true });
    tell(outcome, values.whole === true);
    if (outcome.verdicts.length > 0) process.exitCode = 1;
    return;
  }
  const from = integer(values.from, 'from', 1);
  const count = integer(values.seeds, 'seeds', 1_000);
  const total = { seeds: 0, operations: 0, grants: 0, faults: 0, virtualMs: 0 };
  const startedMs = performance.now();
  let toldMs = startedMs;
  const say = (): void => {
    const rate = total.seeds / ((performance.now() - startedMs) / 1000);
    console.log(
      `${total.seeds} seeds, ${rate.toFixed(1)} a second, ${total.operations} operations, ${total.grants} grants, ${total.faults} faults, ${(total.virtualMs / 3_600_000).toFixed(2)} virtual hours`,
    );
  };
  for (let seed = from; seed < from + count; seed += 1) {
    if (fault !== undefined && !faultsOf(seed, nodes).has(fault)) continue;
    const outcome = await play({ ...shared, seed });
    total.seeds += 1;
    total.operations += outcome.operations;
    total.grants += outcome.grants;
    total.faults += outcome.faults;
    total.virtualMs += outcome.virtualMs;
    const nowMs = performance.now();
    if (outcome.verdicts.length > 0) {
      process.exitCode = 1;
      if (values.all !== true) {
        tell(await play({ ...shared, seed, isTold: true }), values.whole === true);
        break;
      }
      const { title, verdicts } = outcome;
      console.log(
        `seed ${seed}: ${title}\n  BROKEN ${verdicts.map(({ rule, text }) => `${rule}: ${text}`).join('; ')}`,
      );
    }
    if (nowMs - toldMs > 1_000) {
      toldMs = nowMs;
      say();
    }
  }
  say();
}

try {
  await main();
} catch (error) {
  const isUsage = error instanceof UsageError || isParseArgsError(error);
  console.error(isUsage ? `${error.message}\n\n${USAGE}` : error);
  process.exitCode = isUsage ? 2 : 1;
}
