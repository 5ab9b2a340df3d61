/**
 * The participants of other languages, built or installed into `.cache/interop` once for each state of their sources.
 * What a machine lacks is left out, and that is said: see `needs.ts`.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { hasTool, mayLack, needs } from '../../packages/holdfast/test/support/needs.ts';

const INTEROP = resolve(import.meta.dirname, '..');
const CACHE = resolve(INTEROP, '../.cache/interop');
/** A first build downloads and compiles everything, on a machine that may be busy. */
const STEP_LIMIT_MS = 500_000;

export const hasRedisson: boolean = needs(
  'a JDK 17 with Maven',
  hasTool('mvn', '-v') && hasTool('javac', '-version'),
  'every test with Redisson',
);

/** Builds redsync; false, and said, where Go or its modules cannot be had. */
export function hasRedsync(): boolean {
  return canBeHad('redsync', redsyncCommand);
}

/** Installs redis-py; false, and said, where Python or the package cannot be had. */
export function hasRedisPy(): boolean {
  return canBeHad('redis-py', redisPyCommand);
}

function canBeHad(library: string, build: () => unknown): boolean {
  try {
    build();
    return true;
  } catch (error) {
    return mayLack(`${library} (${String(error).split('\n', 2).join(' ')})`, false, 'our mutex beside it');
  }
}

/** The command for Redisson, without its port. */
export function redissonCommand(): readonly string[] {
  const folder = join(INTEROP, 'java');
  once('java', folder, [['mvn', '--quiet', '--batch-mode', '--file', join(folder, 'pom.xml'), 'package']]);
  return ['java', '-jar', join(CACHE, 'java/interop.jar')];
}

/** The command for redsync. */
export function redsyncCommand(): readonly string[] {
  const folder = join(INTEROP, 'go');
  const program = join(CACHE, 'redsync');
  once('go', folder, [['go', 'build', '-C', folder, '-o', program, '.']]);
  return [program];
}

/** The command for redis-py. */
export function redisPyCommand(): readonly string[] {
  const folder = join(INTEROP, 'python');
  const python = join(CACHE, 'python/bin/python3');
  once('python', folder, [
    ['python3', '-m', 'venv', join(CACHE, 'python')],
    [python, '-m', 'pip', 'install', '--quiet', '--requirement', join(folder, 'requirements.txt')],
  ]);
  return [python, join(folder, 'redis_py.py')];
}

/** Runs the steps unless they have run for the same sources. */
function once(name: string, sources: string, steps: readonly (readonly string[])[]): void {
  const stamp = join(CACHE, `${name}.sha256`);
  const hash = hashOf(sources);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return;
  mkdirSync(CACHE, { recursive: true });
  for (const [command = '', ...args] of steps) {
    const { status, stdout, stderr, error } = spawnSync(command, args, {
      encoding: 'utf8',
      timeout: STEP_LIMIT_MS,
    });
    const said = error?.message ?? `${stdout}${stderr}`;
    if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${said}`);
  }
  writeFileSync(stamp, hash);
}

function hashOf(folder: string): string {
  const hash = createHash('sha256');
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  for (const path of paths) {
    const file = join(folder, path);
    if (statSync(file).isFile()) hash.update(`${path}\n`).update(readFileSync(file));
  }
  return hash.digest('hex');
}
