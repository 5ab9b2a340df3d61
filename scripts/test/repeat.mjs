// The same test files again and again: `npm run test:repeat -- 50 packages/holdfast/test/fault/quorum`. Beside two
// processes that spin, since what fails once in fifty runs fails on a machine that is busy; `--idle` leaves them out.
// Anything else is Vitest's own: `-t <title>`.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from '../run.mjs';

const USAGE = 'usage: npm run test:repeat -- [--idle] <times> <test files and options of Vitest…>';
const SPINNERS = 2;
/** Ends when this process has ended in whatever way. `ppid` is a system call, so it is read only now and then. */
const SPIN = `while (process.ppid === ${process.pid}) for (let i = 0; i < 1e8; i += 1);`;
/** The output of failed runs. The process id is in the path, because two of these scripts may run at once. */
const FOLDER = join(ROOT, '.cache/repeat', String(process.pid));
const INTERRUPTED = 130;

/**
 * The parts of Vitest's JSON report that are read here.
 *
 * @typedef {{ fullName: string, status: string }} TestReport
 * @typedef {{ name: string, status: string, message: string, assertionResults: TestReport[] }} FileReport
 * @typedef {{ numPassedTests: number, testResults: FileReport[] }} Report
 */

/** @typedef {{ runs: number, titles: Map<string, number> }} Record */

/** The heading for failures without a file: a worker that crashed, an unhandled rejection. */
const NO_FILE = 'outside of any file';

function parse() {
  const args = process.argv.slice(2).filter((arg) => arg !== '--idle');
  const times = Number(args[0]);
  if (!Number.isInteger(times) || times < 1 || args.length < 2) {
    console.error(USAGE);
    process.exit(2);
  }
  return { isIdle: process.argv.includes('--idle'), times, rest: args.slice(1) };
}

/** @type {Set<import('node:child_process').ChildProcess>} */
const children = new Set();
let isInterrupted = false;

/** @param {string[]} args @param {import('node:child_process').SpawnOptions} options */
function start(args, options) {
  const child = spawn(process.execPath, args, { cwd: ROOT, ...options });
  children.add(child);
  child.once('close', () => children.delete(child));
  return child;
}

/** @param {NodeJS.Signals} signal */
function interrupt(signal) {
  // Vitest ends its workers on the first signal. A second signal kills everything.
  for (const child of children) child.kill(isInterrupted ? 'SIGKILL' : signal);
  isInterrupted = true;
}

/**
 * @param {string[]} rest
 * @returns {Promise<{ code: number, said: string, report: Report | null }>}
 */
function runOnce(rest) {
  const file = join(FOLDER, 'report.json');
  rmSync(file, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const vitest = [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', ...reporters, ...rest];
  return new Promise((resolve) => {
    const child = start(vitest, { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        said += text;
      });
    }
    child.once('close', (code) => resolve({ code: code ?? 1, said, report: read(file) }));
  });
}

/** @param {string} file @returns {Report | null} */
function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

/** The titles that failed, by file. @param {number} code @param {Report | null} report */
function failuresOf(code, report) {
  /** @type {Map<string, string[]>} */
  const failures = new Map();
  for (const { name, status, message, assertionResults } of report?.testResults ?? []) {
    const titles = assertionResults.filter((test) => test.status === 'failed').map((test) => test.fullName);
    if (status === 'failed' && titles.length === 0) titles.push(message.split('\n')[0] || 'the file itself');
    if (titles.length > 0) failures.set(relative(ROOT, name), titles);
  }
  if (code !== 0 && failures.size === 0) failures.set(NO_FILE, [`Vitest ended with ${code}`]);
  return failures;
}

/** @param {Map<string, Record>} records @param {Report | null} report @param {Map<string, string[]>} failures */
function note(records, report, failures) {
  for (const { name } of report?.testResults ?? []) {
    const file = relative(ROOT, name);
    if (!records.has(file)) records.set(file, { runs: 0, titles: new Map() });
  }
  for (const [file, titles] of failures) {
    const record = records.get(file) ?? { runs: 0, titles: new Map() };
    records.set(file, record);
    record.runs += 1;
    for (const title of titles) record.titles.set(title, (record.titles.get(title) ?? 0) + 1);
  }
}

/** @param {Map<string, Record>} records @param {number} done */
function tell(records, done) {
  console.log('');
  for (const [file, { runs, titles }] of [...records].sort(([a], [b]) => a.localeCompare(b))) {
    console.log(`${file}: failed ${runs} of ${done}`);
    for (const [title, count] of titles) console.log(`  ${count}x ${title}`);
  }
}

const { isIdle, times, rest } = parse();
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(signal, () => interrupt(signal));
mkdirSync(FOLDER, { recursive: true });
const spinners = Array.from({ length: isIdle ? 0 : SPINNERS }, () =>
  start(['-e', SPIN], { stdio: 'ignore' }),
);
if (!isIdle)
  console.log(`beside ${SPINNERS} processes that spin: ${spinners.map(({ pid }) => pid).join(' ')}`);

/** @type {Map<string, Record>} */
const records = new Map();
let done = 0;
while (done < times && !isInterrupted) {
  const beganMs = performance.now();
  const { code, said, report } = await runOnce(rest);
  if (isInterrupted) break;
  done += 1;
  const failures = failuresOf(code, report);
  note(records, report, failures);
  const seconds = ((performance.now() - beganMs) / 1_000).toFixed(1);
  const titles = [...failures.values()].flat();
  const ending = titles.length === 0 ? 'ok' : `FAILED ${titles.join('; ')}`;
  if (titles.length > 0) writeFileSync(join(FOLDER, `run-${done}.log`), said);
  console.log(`run ${done} of ${times}: ${report?.numPassedTests ?? 0} passed in ${seconds} s, ${ending}`);
}
for (const spinner of spinners) spinner.kill('SIGKILL');
tell(records, done);
const hasFailed = [...records.values()].some(({ runs }) => runs > 0);
if (hasFailed) console.log(`what the failed runs said: ${join(FOLDER, 'run-<number>.log')}`);
else rmSync(FOLDER, { recursive: true });
if (isInterrupted) console.log(`interrupted after ${done} of ${times} runs`);
process.exitCode = isInterrupted ? INTERRUPTED : Number(hasFailed);
