/** What requests may read from Redis, whoever asks and however often. */
import type { Locks } from 'holdfast';
import { expect, test, vi } from 'vitest';
import { NO_ALERTS } from '../../src/alert-source.ts';
import { readPast } from '../../src/alerts/past.ts';
import { AlertStore } from '../../src/alerts/state/store.ts';
import { systemClock } from '../../src/alerts/system-clock.ts';
import type { AuditTrail } from '../../src/audit/audit-trail.ts';
import { LockDetails } from '../../src/http/lock-detail.ts';
import { PageReads, type ReadKind } from '../../src/http/page-reads.ts';
import { buildRoutes } from '../../src/http/route-parts.ts';
import type { JobBook } from '../../src/sampling/jobs.ts';
import type { Sampler } from '../../src/sampling/sampler.ts';

/** Pages that ask, on a clock of their own. */
class Asking {
  now = 1_000_000;
  /** Each read that was made. */
  readonly made: { readonly at: number; readonly calls: number }[] = [];
  readonly reads: PageReads;

  constructor(budget = 1) {
    this.reads = new PageReads(() => this.now, budget);
  }

  /** When what is answered was read; null: nothing is answered. */
  ask(what: string, kind: ReadKind = 'line', calls = 1): Promise<number> | null {
    const read = async (): Promise<number> => {
      this.made.push({ at: this.now, calls });
      return this.now;
    };
    return this.reads.ask({ kind, what, calls, read });
  }

  /** Lets the time pass in steps of 50 ms, and asks at each. */
  async during(seconds: number, each: (step: number) => unknown): Promise<void> {
    for (let step = 0; step < seconds * 20; step += 1) {
      await each(step);
      this.now += 50;
    }
  }

  /** The calls of the second that had most of them. */
  get mostInOneSecond(): number {
    const within = ({ at }: { at: number }): number =>
      this.made.reduce((sum, read) => sum + (read.at >= at && read.at < at + 1_000 ? read.calls : 0), 0);
    return Math.max(0, ...this.made.map(within));
  }
}

test('any number of pages of one thing cost what one page costs', async () => {
  const asking = new Asking();
  await asking.during(10, async () => {
    for (let page = 0; page < 50; page += 1) await asking.ask('order');
  });
  expect(asking.made).toHaveLength(10);
});

test('who asks while a read is under way waits for it, however long it takes', async () => {
  const asking = new Asking();
  let finish = (_answer: string): void => {};
  const read = { kind: 'audit', what: '', calls: 1 } as const;
  const slow = new Promise<string>((resolve) => {
    finish = resolve;
  });
  const first = asking.reads.ask({ ...read, read: () => slow });
  asking.now += 2_000;
  const second = asking.reads.ask({ ...read, read: async () => 'another' });
  finish('one');
  expect(await Promise.all([first, second])).toEqual(['one', 'one']);
});

test('name after name, page after page: no second has more than 20 calls', async () => {
  const asking = new Asking();
  await asking.during(10, async (step) => {
    for (let at = 0; at < 10; at += 1) {
      await asking.ask(`order:${step} ${at}`);
      await asking.ask(`${step}-${at}`, 'audit', 2);
      await asking.ask(String(at));
    }
  });
  expect(asking.mostInOneSecond).toBeLessThanOrEqual(20);
  expect(asking.made.length).toBeGreaterThan(50);
});

test('an open page is read on while somebody asks for name after name', async () => {
  const asking = new Asking();
  const ages: number[] = [];
  await asking.ask('mine');
  await asking.during(30, async (step) => {
    // First: what becomes free is theirs.
    for (let at = 0; at < 20; at += 1) await asking.ask(`order:${step} ${at}`);
    if (step % 20 === 19) ages.push(asking.now - ((await asking.ask('mine')) ?? 0));
  });
  expect(Math.max(...ages)).toBeLessThanOrEqual(4_000);
});

test('while sixty pages are open each of them is read on, and another one can be opened', async () => {
  const asking = new Asking();
  let oldestMs = 0;
  const askAll = async (): Promise<void> => {
    for (let page = 0; page < 60; page += 1) {
      const readAt = await asking.ask(`order:${page}`);
      if (readAt !== null) oldestMs = Math.max(oldestMs, asking.now - readAt);
    }
  };
  await asking.during(30, (step) => (step % 20 === 0 ? askAll() : null));
  expect(oldestMs).toBeLessThanOrEqual(10_000);
  expect(asking.mostInOneSecond).toBeLessThanOrEqual(20);
  expect(await asking.ask('another')).toBe(asking.now);
});

test('what was outdated is given to nobody, also over the bound', async () => {
  const asking = new Asking();
  const readAt = await asking.ask('', 'audit');
  asking.now += 10;
  expect(await asking.ask('', 'audit')).toBe(readAt);
  asking.reads.outdate();
  expect(await asking.ask('', 'audit')).toBe(asking.now);
  for (let at = 0; at < 40; at += 1) {
    asking.reads.outdate();
    const answer = asking.ask('', 'audit');
    expect([null, asking.now]).toContain(answer === null ? null : await answer);
    asking.now += 1;
  }
  expect(asking.mostInOneSecond).toBeLessThanOrEqual(20);
  // A second later there is room again.
  asking.now += 1_000;
  expect(await asking.ask('', 'audit')).toBe(asking.now);
});

test('a read that fails fails for all who share it, and is made again afterwards', async () => {
  const asking = new Asking();
  let reads = 0;
  const fail = (): Promise<number> | null =>
    asking.reads.ask({
      kind: 'alerts',
      what: '',
      calls: 2,
      read: async (): Promise<number> => {
        reads += 1;
        throw new Error('away');
      },
    });
  const outcomes = await Promise.allSettled([fail(), fail(), fail()]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(reads).toBe(1);
  asking.now += 1_500;
  await expect(fail()).rejects.toThrow('away');
  expect(reads).toBe(2);
});

test('a tenth of the budget is a fifth of the bound, and every page still opens', async () => {
  const asking = new Asking(0.1);
  await asking.during(10, async (step) => {
    await asking.ask(`order:${step}`);
    await asking.ask(`${step}-0`, 'audit', 2);
  });
  expect(asking.mostInOneSecond).toBeLessThanOrEqual(4);
  asking.now += 1_000;
  expect(await asking.ask('9-9', 'audit', 2)).toBe(asking.now);
});

/** As far as a page of a lock asks for it. */
function samplerAt(now: () => number, open: (name: string) => void = () => {}): Sampler {
  const picture = { rows: new Map(), holdsOf: () => [], reach: 0 };
  return { now, open, picture } as unknown as Sampler;
}

test('a name over the bound is shown without its line, and does not take the place of a late lock in the fast lane', async () => {
  const now = (): number => 1_000_000;
  const [inspect, open] = [vi.fn(async () => null), vi.fn()];
  const locks = { inspect } as unknown as Locks;
  const details = new LockDetails(samplerAt(now, open), locks, new PageReads(now, 1));
  const all = await Promise.all(Array.from({ length: 100 }, (_, at) => details.read(`order:${at}`)));
  expect(inspect.mock.calls.length).toBeLessThanOrEqual(20);
  expect(open.mock.calls).toEqual(inspect.mock.calls);
  expect(all.filter(({ lineAt }) => lineAt === null)).toHaveLength(100 - inspect.mock.calls.length);
});

test('a change of an alert outdates what was read of alerts, and not of lines', async () => {
  const listeners: (() => void)[] = [];
  const onChange = (listener: () => void): (() => void) => {
    listeners.push(listener);
    return () => {};
  };
  const now = (): number => 1_000_000;
  const inspect = vi.fn(async () => null);
  const locks = { inspect } as unknown as Locks;
  const page = vi.fn(NO_ALERTS.page);
  const { parts } = buildRoutes({
    options: {
      fleet: 'shop',
      basePath: '/',
      actions: false,
      audit: true,
      budget: 1,
      login: { kind: 'none' },
      pageFolder: null,
    },
    sampler: samplerAt(now),
    reading: locks,
    writing: locks,
    jobs: {} as JobBook,
    audit: {} as AuditTrail,
    alerts: { ...NO_ALERTS, onChange, page },
  });
  await parts.paged.alerts(null);
  await parts.paged.alerts(null);
  await parts.details.read('order');
  expect(page).toHaveBeenCalledTimes(1);
  for (const listener of listeners) listener();
  await parts.paged.alerts(null);
  await parts.details.read('order');
  expect(page).toHaveBeenCalledTimes(2);
  expect(inspect).toHaveBeenCalledTimes(1);
});

test('a page of past alerts reads twice at most, and the pages after it have the rest', async () => {
  // Three ends among 2,400 deliveries, the newest first.
  const entries = Array.from({ length: 2_400 }, (_, at) => ({ id: `${10_000 - at}-0`, at }));
  let reads = 0;
  const call = async (_command: string, ...[, end = '+']: string[]): Promise<unknown> => {
    reads += 1;
    const from = end === '+' ? 0 : entries.findIndex(({ id }) => id === end.slice(1)) + 1;
    return entries.slice(from, from + 500).map(({ id, at }) => {
      const isEnd = at % 800 === 700;
      return [id, ['kind', isEnd ? 'resolved' : 'sent', 'entry', JSON.stringify({ rule: 'evicting' })]];
    });
  };
  const store = new AlertStore({ call }, 'shop', systemClock);
  const found: number[] = [];
  let before: string | null = null;
  do {
    const readsBefore = reads;
    const { past, next } = await readPast(store, before, 0);
    expect(reads - readsBefore).toBeLessThanOrEqual(2);
    found.push(past.length);
    before = next;
  } while (before !== null);
  expect(found).toEqual([1, 1, 1]);
});
