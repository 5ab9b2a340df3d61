/** Contention for one key: a timed window, then a shorter one in which the lock guards a counter. */
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { commandsSent } from '../measure/commands-sent.ts';
import { processCpuMs } from '../measure/cpu-time.ts';
import { Histogram } from '../measure/histogram.ts';
import type { Measures } from '../measure/outcome.ts';
import { jain, sum } from '../measure/statistics.ts';
import type { Column } from '../output/table.ts';
import type { Participant } from '../participants/participant.ts';
import type { ContendResult } from '../workers/jobs/job.ts';
import type { WorkerPool } from '../workers/worker-pool.ts';

/** Time beyond the windows themselves; a process that needs more is stuck. */
const SLACK_MS = 5_000;
/** A few callers are enough to detect a violation. */
const GUARD_WAITERS_MAX = 100;

export interface ContentionPlan {
  readonly key: string;
  /** In each process. */
  readonly waiters: number;
  readonly sectionMs: number;
  readonly warmMs: number;
  readonly windowMs: number;
  readonly guardMs: number;
  /** The process of the participant's server, to measure its processor time. */
  readonly serverPid?: number;
  /** More measures, of the timed window. The results are in the order of the processes. */
  measuresOf?(results: readonly ContendResult[]): Measures;
}

export const CONTENTION_COLUMNS: readonly Column[] = [
  { key: 'commands', title: 'commands each', digits: 2 },
  { key: 'p50Ms', title: 'wait p50 ms', digits: 2 },
  { key: 'p99Ms', title: 'p99 ms', digits: 1 },
  { key: 'maxMs', title: 'longest ms', digits: 0 },
  { key: 'jainWaiters', title: 'Jain, waiters', digits: 2 },
  { key: 'gaveUp', title: 'gave up', digits: 0, isTotal: true },
  { key: 'violations', title: 'violations', digits: 0, isTotal: true },
];

/** What the window cost the server. */
interface ServerCost {
  readonly commands: number;
  readonly cpuMs: number;
}

function measuresOf(results: readonly ContendResult[], server: ServerCost): Measures {
  const waits = new Histogram();
  for (const result of results) waits.merge(result.waits);
  const acquisitions = sum(results.map(({ acquisitionsInAll }) => acquisitionsInAll));
  const workersCpuMs = sum(results.map(({ cpuMsInAll }) => cpuMsInAll));
  return {
    perSecond: sum(results.map(({ acquisitions, windowMs }) => (acquisitions / windowMs) * 1000)),
    commands: server.commands / acquisitions,
    workersCpuUs: (workersCpuMs / acquisitions) * 1000,
    serverCpuUs: (server.cpuMs / acquisitions) * 1000,
    cpuUs: ((workersCpuMs + server.cpuMs) / acquisitions) * 1000,
    p50Ms: waits.quantileMs(0.5),
    p99Ms: waits.quantileMs(0.99),
    maxMs: waits.maxMs,
    jainWaiters: jain(results.flatMap(({ shares }) => shares)),
    jainProcesses: jain(results.map(({ acquisitions }) => acquisitions)),
    gaveUp: sum(results.map(({ gaveUp }) => gaveUp)),
  };
}

export async function measureContention(
  pool: WorkerPool,
  admin: Redis,
  participant: Participant,
  plan: ContentionPlan,
): Promise<Measures> {
  const { key, waiters, sectionMs, warmMs, windowMs, guardMs, serverPid } = plan;
  const cpuMs = (): number => (serverPid === undefined ? Number.NaN : processCpuMs(serverPid));
  return pool.with(participant, async () => {
    await admin.config('RESETSTAT');
    const cpuBeforeMs = cpuMs();
    const timed = await pool.all(
      'contend',
      { key, waiters, sectionMs, warmMs, windowMs, counterPath: null },
      warmMs + windowMs + SLACK_MS,
    );
    const server = { cpuMs: cpuMs() - cpuBeforeMs, commands: await commandsSent(admin, participant) };
    const measures = { ...measuresOf(timed, server), ...plan.measuresOf?.(timed) };

    const counterPath = join(tmpdir(), `holdfast-bench-${process.pid}.counter`);
    await writeFile(counterPath, new Float64Array(1));
    const guarded = await pool.all(
      'contend',
      {
        key: `${key}:guarded`,
        waiters: Math.min(waiters, GUARD_WAITERS_MAX),
        sectionMs,
        warmMs: 0,
        windowMs: guardMs,
        counterPath,
      },
      guardMs + SLACK_MS,
    );
    await rm(counterPath);
    return { ...measures, violations: sum(guarded.map(({ violations }) => violations)) };
  });
}
