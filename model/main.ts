/**
 * The model: `npm run model` searches every reachable state of each configuration and looks for each planted bug.
 * `--quick` leaves out the long ones. `-- unanswered` runs what has that word in its name. `--trace newcomer` prints a short way to the
 * broken rule, step by step. docs/concepts/model.md explains it.
 */
import { availableParallelism } from 'node:os';
import { hasTool, needs } from '../packages/holdfast/test/support/needs.ts';
import { CONFIGURATIONS, type Configuration, PLANTED_BUGS, type PlantedBug } from './configurations.ts';
import { check, trace, type Verdict } from './spin.ts';

const WORKERS = Math.min(2, availableParallelism());

interface Tally {
  passed: number;
  failed: number;
}

async function main(args: readonly string[]): Promise<void> {
  const hasSpin = needs('spin (apt-get install spin)', hasTool('spin', '-V'), 'the model');
  const hasCompiler = needs('gcc', hasTool('gcc', '--version'), 'the model');
  const tally: Tally = { passed: 0, failed: 0 };
  if (hasSpin && hasCompiler) await runAll(args, tally);
  console.log(`${tally.passed} passed, ${tally.failed} failed`);
  if (tally.failed > 0) process.exitCode = 1;
}

async function runAll(args: readonly string[], tally: Tally): Promise<void> {
  const words = args.filter((arg) => !arg.startsWith('--'));
  const isWanted = ({ name }: Configuration): boolean =>
    words.length === 0 || words.some((word) => name.includes(word));
  const jobs = [...PLANTED_BUGS, ...CONFIGURATIONS].filter(isWanted);
  if (args.includes('--trace')) return showTraces(jobs, tally);
  const queue = args.includes('--quick') ? jobs.filter(({ isLong }) => isLong !== true) : jobs;
  if (queue.length === 0) tally.failed += 1;
  const waiting = [...queue];
  const worker = async (): Promise<void> => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      report(job, await check(job), tally);
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
}

function isBug(job: Configuration): job is PlantedBug {
  return 'breaks' in job;
}

function report(job: Configuration, verdict: Verdict, tally: Tally): void {
  const { states, seconds, broken, trouble } = verdict;
  const isPassed = trouble === null && broken === (isBug(job) ? job.breaks : null);
  tally[isPassed ? 'passed' : 'failed'] += 1;
  const cost = `${states.toLocaleString('en')} states, ${seconds.toFixed(1)} s`;
  const outcome = broken === null ? 'every rule holds' : `breaks the rule "${broken}"`;
  const kind = isBug(job) ? 'planted bug ' : '';
  console.log(`${isPassed ? 'ok  ' : 'FAIL'} ${kind}${job.name}: ${outcome} (${cost}; ${job.scope})`);
  if (trouble !== null) console.log(trouble);
  else if (!isPassed && broken !== null) console.log(`     npm run model -- --trace '${job.name}' shows how`);
}

async function showTraces(jobs: readonly Configuration[], tally: Tally): Promise<void> {
  for (const job of jobs) {
    const steps = await trace(job);
    const isPassed = (steps === '') !== isBug(job);
    tally[isPassed ? 'passed' : 'failed'] += 1;
    console.log(`${job.name}: ${steps === '' ? 'every rule holds' : job.scope}\n${steps}\n`);
  }
}

await main(process.argv.slice(2));
