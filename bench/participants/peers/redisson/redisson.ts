/**
 * Redisson 4.7.0, on Java: each worker process starts the program of interop/java, which contends by itself and says
 * what it did. A message wakes its waiters.
 */

import { readFile } from 'node:fs/promises';
import { processCpuMs } from '../../../measure/cpu-time.ts';
import { Histogram } from '../../../measure/histogram.ts';
import type { ContendPlan, ContendResult } from '../../../workers/jobs/job.ts';
import type { OpenParticipant, Participant } from '../../participant.ts';
import { JavaProgram } from './java-program.ts';
import { redissonJar, redissonLacks } from './redisson-jar.ts';

/** Nine Java machines that start at once share the cores for that long. */
const OPEN_MS_MAX = 120_000;
/** Beyond this, starting the Java machines takes longer than everything else in the scenario. */
const PROCESSES_MAX = 9;
/** Acquisitions after which Java has compiled what is used often. */
const WARM_UP_ROUNDS = 500;

interface Contention {
  readonly turns: number;
  readonly waitsMs: readonly number[];
}

/** One for a port and process: a Java machine that started anew in every round would be measured cold. */
const programs = new Map<number, Promise<JavaProgram>>();

async function start(port: number): Promise<JavaProgram> {
  const program = await JavaProgram.start(['-jar', redissonJar(), String(port)]);
  const name = `redisson-warm-up:${process.pid}`;
  await program.request({ request: 'rounds', kind: 'lock', name, count: WARM_UP_ROUNDS });
  return program;
}

/** Lines `enter <who> …` right behind another line `enter`: two owners at once. Each process counts its own. */
function violationsIn(journal: string, who: string): number {
  const lines = journal.split('\n');
  const isEntered = (line = ''): boolean => line.includes('enter ');
  return lines.filter((line, i) => line.startsWith(`enter ${who} `) && isEntered(lines[i - 1])).length;
}

async function contend(program: JavaProgram, plan: ContendPlan): Promise<ContendResult> {
  const { key: name, waiters: threads, sectionMs, warmMs, windowMs, counterPath } = plan;
  const who = `java-${process.pid}`;
  // The program keeps a journal of its turns where the others guard a counter, in the same file.
  const journal = counterPath ?? '/dev/null';
  const run = (durationMs: number): Promise<Contention> =>
    program.request({
      request: 'contend',
      kind: 'lock',
      name,
      durationMs,
      sectionMs,
      pauseMs: 0,
      threads,
      journal,
      who,
    });
  const cpuBeforeMs = processCpuMs(program.pid);
  const warm = await run(warmMs);
  const startedMs = performance.now();
  const timed = await run(windowMs);
  const waits = new Histogram();
  for (const waitMs of timed.waitsMs) waits.add(waitMs);
  return {
    acquisitions: timed.turns,
    acquisitionsInAll: warm.turns + timed.turns,
    // Until the last turn has ended, which counts too.
    windowMs: performance.now() - startedMs,
    cpuMsInAll: processCpuMs(program.pid) - cpuBeforeMs,
    shares: [timed.turns],
    waits: waits.toData(),
    gaveUp: 0,
    violations: counterPath === null ? 0 : violationsIn(await readFile(counterPath, 'utf8'), who),
  };
}

async function open(port: number): Promise<OpenParticipant> {
  const starting = programs.get(port) ?? start(port);
  programs.set(port, starting);
  const program = await starting;
  return {
    take: () => Promise.reject(new Error('expected `contend`: the pipe to Java would be measured')),
    contend: (plan) => contend(program, plan),
    // The program belongs to the process and ends with it.
    async close() {},
  };
}

export const redisson: Participant = {
  id: 'redisson',
  name: 'Redisson 4.7.0 on Java',
  settings: 'RLock, defaults',
  role: 'peer',
  client: 'redisson',
  isTuned: false,
  canRenew: false,
  // Each unlock deletes one key by a command of its own and one inside its script.
  sends: { evalsha: 1, eval: 1, subscribe: 1, unsubscribe: 1, del: 0.5 },
  openMsMax: OPEN_MS_MAX,
  processesMax: PROCESSES_MAX,
  lacks: redissonLacks,
  open,
};
