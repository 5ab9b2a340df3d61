/** The jobs on the monitor: what is told of them, and that they cost nothing while nobody looks. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobInfo } from 'holdfast';
import { expect, test } from 'vitest';
import { aclWords, MONITOR, MONITOR_JOBS } from '../../holdfast/test/support/servers/acl-rules.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import type { JobsPage } from '../src/api/types.ts';
import { JobBook } from '../src/sampling/jobs.ts';
import { client, closing, session, TestMonitor } from './support/monitor.ts';

const server = useRedis();
/** No slot begins while a test runs. */
const SLOTS = { everyMs: 7 * 24 * 3_600_000, earlyMs: 0 };

/** How long the work of one job takes. */
const TIDY_MS = 40;

async function jobsOf(seen: TestMonitor): Promise<JobsPage> {
  const response = await seen.get('api/v1/jobs');
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as JobsPage;
}

test('jobs that ran, failed or run now are told: when, where, how long, how they ended, and the next', async () => {
  const locks = session(client(server.port), { prefix: 'shop:' });
  const seen = new TestMonitor({ redis: client(server.port), prefix: 'shop:' });
  const begunAt = performance.now();
  await locks.runJob('tidy', () => sleep(TIDY_MS), SLOTS);
  const tidyMs = performance.now() - begunAt;
  const failing = locks.runJob('invoices', () => Promise.reject(new Error('451 try later')), SLOTS);
  await failing.catch(() => {});
  let finish = (): void => {};
  const running = locks.runJob('report', () => new Promise<void>((resolve) => (finish = resolve)));
  const page = await waitFor(
    async () => {
      const found = await jobsOf(seen);
      return found.readAt !== null && found.count === 3 ? found : null;
    },
    { what: 'three jobs' },
  );
  const [invoices, report, tidy] = page.jobs;
  expect(invoices).toMatchObject({ name: 'invoices', state: 'failed', attempt: 1, host: hostname() });
  expect(invoices?.error).toContain('451 try later');
  expect(report).toMatchObject({
    name: 'report',
    state: 'running',
    schedule: null,
    next: null,
    endedAt: null,
  });
  expect(tidy).toMatchObject({ name: 'tidy', state: 'done', error: null, next: expect.any(Number) });
  expect((tidy?.next ?? 0) - (tidy?.slot ?? 0)).toBe(SLOTS.everyMs);
  expect(tidy?.tookMs).toBeGreaterThanOrEqual(TIDY_MS / 2);
  // Generous: the server counts whole milliseconds of a clock of its own.
  expect(tidy?.tookMs).toBeLessThanOrEqual(tidyMs + 1_000);
  finish();
  await running;
});

test('a user who may not read jobs is told which rights it needs, and with them sees the jobs', async () => {
  await ask(server.port, ['ACL', 'SETUSER', 'no-jobs', 'reset', 'on', '>pass', ...aclWords(MONITOR)]);
  const locks = session(client(server.port), { prefix: 'locks:' });
  await locks.runJob('tidy', async () => {});
  const login = { username: 'no-jobs', password: 'pass' };
  const seen = new TestMonitor({ redis: client(server.port, login), prefix: 'locks:' });
  const refused = await waitFor(
    async () => {
      const response = await seen.get('api/v1/jobs');
      return response.status === 403 ? await response.text() : null;
    },
    { what: 'a refusal' },
  );
  expect(refused).toContain('~holdfast_job:*');
  await ask(server.port, ['ACL', 'SETUSER', 'no-jobs', ...aclWords(MONITOR_JOBS)]);
  const { jobs } = await waitFor(
    async () => {
      const response = await seen.get('api/v1/jobs');
      const page = response.status === 200 ? ((await response.json()) as JobsPage) : null;
      return page?.readAt == null ? null : page;
    },
    { what: 'the jobs' },
  );
  expect(jobs).toMatchObject([{ name: 'tidy', state: 'done' }]);
});

/** Walks over jobs without a server, and counts them. */
class FakeWalks {
  walks = 0;
  calls = 0;
  failure: Error | null = null;
  readonly names: string[];

  constructor(count: number) {
    this.names = Array.from({ length: count }, (_, index) => `job-${String(index).padStart(5, '0')}`);
  }

  read = async function* (this: FakeWalks, pace: () => Promise<unknown>): AsyncGenerator<JobInfo> {
    this.walks += 1;
    if (this.failure !== null) throw this.failure;
    const last = { slot: new Date(0), state: 'done', attempt: 1 } as JobInfo['last'];
    for (const name of this.names) {
      this.calls += 1;
      yield { name, spec: '', last, next: undefined, tookMs: 1 };
    }
    await pace();
  };
}

function bookOf(walks: FakeWalks, now: () => number): JobBook {
  return closing(new JobBook({ read: (pace) => walks.read(pace), now, budget: 1 }));
}

test('nothing is read until somebody asks, nor while a walk is on', async () => {
  const walks = new FakeWalks(3);
  const book = bookOf(walks, () => performance.now());
  expect(walks.walks).toBe(0);
  await Promise.all([book.page(), book.page(), book.page()]);
  const page = await waitFor(async () => {
    const found = await book.page();
    return found.readAt === null ? null : found;
  });
  expect(page.count).toBe(3);
  expect(walks.walks).toBe(1);
});

test('at most 1,000 jobs are kept, and all are counted', async () => {
  const book = bookOf(new FakeWalks(1_234), () => performance.now());
  const page = await waitFor(async () => {
    const found = await book.page();
    return found.readAt === null ? null : found;
  });
  expect(page.jobs).toHaveLength(1_000);
  expect(page.count).toBe(1_234);
});

test('a walk that failed is told, and another follows while somebody asks', async () => {
  const walks = new FakeWalks(1);
  walks.failure = new Error('connect ECONNREFUSED');
  const book = bookOf(walks, () => performance.now());
  await waitFor(() =>
    book.page().then(
      () => null,
      (error: Error) => error.message.includes('ECONNREFUSED'),
    ),
  );
  walks.failure = null;
  await waitFor(() =>
    book.page().then(
      ({ count }) => count === 1,
      () => false,
    ),
  );
});
