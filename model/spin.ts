/** Runs SPIN on a model: translate to C, compile, search every reachable state. */
import { spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Configuration } from './configurations.ts';

const MODELS = fileURLToPath(new URL('.', import.meta.url));
const CACHE = fileURLToPath(new URL('../.cache/model', import.meta.url));

/** Whoever works on the same machine comes first. */
const NICENESS = 10;

/** Longer than any path through the models. A path that is cut off is reported, and counts as a failure. */
const DEPTH_MAX = 4_000_000;

/** A trace is looked for among short paths first. */
const TRACE_DEPTHS = [60, 100, 200, 500, DEPTH_MAX];

/** Megabytes for one search. */
const MEMORY_MAX = 6_000;

/** The hash table has 2 to the power of this many slots: 512 MB. */
const SLOTS = 26;
const SLOTS_SHORT = 22;

export interface Verdict {
  readonly states: number;
  readonly seconds: number;
  /** The rule that does not hold; null: every rule holds in every reachable state. */
  readonly broken: string | null;
  /** Why the search is worth nothing: it ended early, or did not start. */
  readonly trouble: string | null;
}

interface Output {
  readonly status: number | null;
  readonly text: string;
}

function run(command: string, args: readonly string[], cwd: string): Promise<Output> {
  return new Promise((settle) => {
    let text = '';
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    if (child.pid !== undefined) setPriority(child.pid, NICENESS);
    child.stdout.on('data', (chunk) => {
      text += chunk;
    });
    child.stderr.on('data', (chunk) => {
      text += chunk;
    });
    child.on('error', (error) => settle({ status: null, text: error.message }));
    child.on('close', (status) => settle({ status, text }));
  });
}

function flags({ settings }: Configuration): string[] {
  return Object.entries(settings).map(([name, value]) => `-D${name}=${value}`);
}

/** Exact: whole states are stored and compared. No bitstate hashing, no hash compaction, no reduction. */
export async function check(configuration: Configuration): Promise<Verdict> {
  const { isLong = false } = configuration;
  // Compiling with optimisation takes longer than a short search gains by it.
  const failure = await build(configuration, [isLong ? '-O2' : '-O0']);
  return failure ?? search(configuration, DEPTH_MAX, isLong ? SLOTS : SLOTS_SHORT);
}

/** Translates the model to C and compiles it. Null: done. */
async function build(configuration: Configuration, options: readonly string[]): Promise<Verdict | null> {
  const folder = folderOf(configuration);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const translated = await run('spin', ['-a', ...flags(configuration), modelOf(configuration)], folder);
  if (translated.status !== 0 || translated.text.includes('Error')) return trouble(translated.text);
  const fixed = ['-w', '-DSAFETY', '-DNOREDUCE', '-DVECTORSZ=512', `-DMEMLIM=${MEMORY_MAX}`];
  const compiled = await run('gcc', [...fixed, ...options, '-o', 'pan', 'pan.c'], folder);
  return compiled.status === 0 ? null : trouble(compiled.text);
}

async function search(configuration: Configuration, depth: number, slots: number): Promise<Verdict> {
  const startedAt = performance.now();
  const { text } = await run('./pan', ['-E', `-m${depth}`, `-w${slots}`], folderOf(configuration));
  return read(text, (performance.now() - startedAt) / 1000);
}

/** Looks for a short way to a broken rule. Returns its steps in words; empty: every rule holds. */
export async function trace(configuration: Configuration): Promise<string> {
  const failure = await build(configuration, ['-O1', '-DREACH']);
  if (failure !== null) return failure.trouble ?? '';
  const folder = folderOf(configuration);
  for (const depth of TRACE_DEPTHS) {
    const { broken } = await search(configuration, depth, SLOTS);
    if (broken === null) continue;
    const trail = join(folder, `${configuration.model}.pml.trail`);
    const replay = ['-k', trail, '-T', ...flags(configuration), modelOf(configuration)];
    const { text } = await run('spin', replay, folder);
    return `${text.split('\n').filter(isStep).join('\n')}\nthe rule "${broken}" is broken`;
  }
  return '';
}

/** The models print what happens; SPIN adds the values of all variables at the end. */
function isStep(line: string): boolean {
  return /^\S/.test(line) && !line.startsWith('spin:') && !/^#|^\d+:|^\d+ process/.test(line);
}

function modelOf({ model }: Configuration): string {
  return join(MODELS, `${model}.pml`);
}

function folderOf({ name }: Configuration): string {
  return join(CACHE, name.replaceAll(' ', '-'));
}

function trouble(text: string): Verdict {
  return { states: 0, seconds: 0, broken: null, trouble: text.trim() };
}

function read(text: string, seconds: number): Verdict {
  const states = Number(/(\d+(?:\.\d+e\+\d+)?) states, stored/.exec(text)?.[1] ?? 0);
  const broken = /assertion violated (\S+)/.exec(text)?.[1] ?? null;
  const isCut = /max search depth too small|Search not completed|out of memory|reached -DMEMLIM/.test(text);
  const isDone = states > 0 && /errors: \d+/.test(text);
  const isTrouble = broken === null && (isCut || !isDone || !/errors: 0/.test(text));
  return { states, seconds, broken, trouble: isTrouble ? text.trim() : null };
}
