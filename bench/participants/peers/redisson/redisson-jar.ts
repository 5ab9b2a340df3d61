/** Builds the program of interop/java once for a run. Worker processes find it through the environment. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const VARIABLE = 'HOLDFAST_BENCH_REDISSON';

/** The path of the jar, in a worker process. */
export function redissonJar(): string {
  const jar = process.env[VARIABLE];
  if (jar === undefined) throw new Error(`expected ${VARIABLE} in the environment`);
  return jar;
}

function hasTool(name: string): boolean {
  return spawnSync(name, ['-version'], { stdio: 'ignore' }).status === 0;
}

/** What is missing to run Redisson, in words; null once its program is built. Asked in the benchmark's own process. */
export function redissonLacks(): string | null {
  const root = fileURLToPath(new URL('../../../..', import.meta.url));
  const project = `${root}interop/java/pom.xml`;
  if (!existsSync(project)) return 'interop/java is missing';
  if (!hasTool('javac') || !hasTool('mvn')) return 'a JDK 17 with Maven is not installed';
  const args = ['--quiet', '--batch-mode', '--file', project, 'package'];
  const { status, stdout } = spawnSync('mvn', args, { encoding: 'utf8' });
  if (status !== 0) return `Maven ended with ${status}: ${stdout.trim()}`;
  process.env[VARIABLE] = `${root}.cache/interop/java/interop.jar`;
  return null;
}
