/**
 * `npm run simulate -- --seeds 1000 --from 1`: plays seeds, and tells the history of the first that fails. With `--fault`
 * only those of them that turn that fault on; with `--once` the world of `once`.
 */
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

function integer(text: string | undefined, name: string, fallback: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new TypeError(`expected --${name} to be a whole number of at least 1, got ${text}`);
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
    },
  });
  const play = values.once === true ? playOnce : playLocks;
  const bugs = values.once === true ? ONCE_BUGS : PLANTED_BUGS;
  const engine = await loadScriptEngine();
  const bug = bugs.find(({ name }) => name === values.bug);
  if (values.bug !== undefined && bug === undefined) {
    throw new TypeError(`expected --bug among ${bugs.map(({ name }) => name).join(', ')}, got ${values.bug}`);
  }
  const fault = FAULTS.find((name) => name === values.fault);
  if (values.fault !== undefined && fault === undefined) {
    throw new TypeError(`expected --fault among ${FAULTS.join(', ')}, got ${values.fault}`);
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

await main();
