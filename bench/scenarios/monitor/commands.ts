/** What the monitor sent, told from what others sent by the server's own counts. */
import type { Redis } from 'ioredis';

/** As docs/operate/monitoring.md states it, for each server and second. Looks: at all locks, and at those that are late or open. */
export const BUDGET = { looks: 40 + 4, surveys: 25, info: 1 + 0.2, time: 1, records: 20, all: 95 } as const;

export type Sent = Record<keyof typeof BUDGET, number>;

export interface Counts {
  readonly calls: ReadonlyMap<string, number>;
  /** Scripts of others; each asked for TIME once. */
  readonly others: number;
  readonly atMs: number;
}

/** One INFO, which is not counted in its own answer. */
export async function readCounts(redis: Redis, others: number): Promise<Counts> {
  const info = await redis.info('commandstats');
  const calls = [...info.matchAll(/cmdstat_([a-z|_]+):calls=(\d+)/g)];
  return {
    calls: new Map(calls.map(([, name = '', count]) => [name, Number(count)])),
    others,
    atMs: performance.now(),
  };
}

/**
 * Commands a second. A script of the monitor is a look, which asks for TIME inside, a step of the survey, which scans, or the
 * record of an owner, which is read with HMGET. What is left of TIME came from outside.
 */
export function sentBetween(before: Counts, after: Counts): Sent {
  const seconds = (after.atMs - before.atMs) / 1_000;
  const grown = (...names: string[]): number =>
    names.reduce((sum, name) => sum + (after.calls.get(name) ?? 0) - (before.calls.get(name) ?? 0), 0);
  const others = after.others - before.others;
  const scripts = grown('eval', 'evalsha') - others;
  const [surveys, records] = [grown('scan'), grown('hmget')];
  const looks = scripts - surveys - records;
  const time = grown('time') - looks - others;
  // The count before is one INFO of ours.
  const info = grown('info') - 1;
  const all = scripts + time + info + grown('xrange', 'xrevrange');
  const perSecond = (count: number): number => count / seconds;
  return {
    looks: perSecond(looks),
    surveys: perSecond(surveys),
    info: perSecond(info),
    time: perSecond(time),
    records: perSecond(records),
    all: perSecond(all),
  };
}
