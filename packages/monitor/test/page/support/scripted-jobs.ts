/** Jobs as a fleet has them: one of each way to end. */
import type { JobsPage, JobView } from '../../../src/api/types.ts';

const HOUR_MS = 3_600_000;

export function makeJob(name: string, part: Partial<JobView> = {}): JobView {
  const slot = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  return {
    name,
    schedule: 'every 1 h',
    slot,
    state: 'done',
    attempt: 1,
    host: 'web-1',
    beganAt: slot + 20,
    endedAt: slot + 42_020,
    tookMs: 42_000,
    error: null,
    next: slot + HOUR_MS,
    ...part,
  };
}

export function makeJobs(): JobsPage {
  const jobs = [
    makeJob('cache:warm', { schedule: 'every 5 min', state: 'running', endedAt: null, tookMs: 7_400 }),
    makeJob('invoices', { state: 'failed', attempt: 3, host: 'batch-1', error: 'Error: SMTP 451 try later' }),
    makeJob('migrate', { schedule: null, next: null, host: 'ops-1', tookMs: 312_000 }),
    makeJob('nightly:report', {
      schedule: '30 2 * * * (Europe/Berlin)',
      state: 'dead',
      tookMs: null,
      endedAt: null,
    }),
    makeJob('tidy', { state: 'missed', attempt: 0, host: null, beganAt: null, endedAt: null, tookMs: null }),
  ];
  return { readAt: Date.now() - 1_000, jobs, count: jobs.length };
}
