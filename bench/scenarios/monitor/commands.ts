/** What the monitor sent, told from what others sent by the server's own counts. */
import type { Redis } from 'ioredis';

/**
 * As docs/operate/monitoring.md states it, for each server and second, while no page is open. Looks: at all locks, and at those
 * that are late. Trail: one read more may fall into the measured time by chance. Unexpected: none, for a single call is
 * already more than that in any measured time.
 */
export const BUDGET = {
  looks: 40 + 4,
  surveys: 25,
  info: 1 + 0.2,
  time: 1,
  records: 20,
  trail: 1 + 0.1,
  unexpected: 0.01,
  all: 95,
} as const;

export type Sent = Record<keyof typeof BUDGET, number>;

export interface Counts {
  /** Of every command that the server knows, whoever sent it or called it in a script. */
  readonly calls: ReadonlyMap<string, number>;
  /** Scripts of others; each asked for TIME once. */
  readonly others: number;
  readonly atMs: number;
}

/** One INFO, which is not counted in its own answer. */
export async function readCounts(redis: Redis, others: number): Promise<Counts> {
  const info = await redis.info('commandstats');
  const calls = [...info.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)];
  return {
    calls: new Map(calls.map(([, name = '', count]) => [name, Number(count)])),
    others,
    atMs: performance.now(),
  };
}

/** What is sent, or told from what is sent by `sentBetween`. */
const EXPECTED: ReadonlySet<string> = new Set(['eval', 'evalsha', 'scan', 'hmget', 'time', 'info', 'xrange']);

/**
 * What scripts call inside beside that. Each kind of script has one command that only it calls, once for each lock, so the
 * others must have grown by these multiples of it.
 */
const INSIDE: readonly { readonly only: string; readonly with: Readonly<Record<string, number>> }[] = [
  // A look, at a lock that is held and has no line.
  { only: 'hgetall', with: { type: 1, hlen: 2, pttl: 1, get: 1 } },
  // A step of the walk, at a lock. Keys of holdfast beside the locks are passed over by their names.
  { only: 'hkeys', with: { type: 1, hlen: 1 } },
  // The crowd, at a change.
  { only: 'hset', with: { del: 1, pexpire: 1, set: 1 } },
];

/** Calls that neither the scripts account for nor anybody is known to send. Less than none: a command of `only` was sent. */
export function unexpectedBetween(before: Counts, after: Counts): ReadonlyMap<string, number> {
  const unexpected = new Map<string, number>();
  for (const [name, calls] of after.calls) {
    if (EXPECTED.has(name) || INSIDE.some(({ only }) => only === name)) continue;
    const inside = INSIDE.reduce(
      (sum, { only, with: others }) => sum + grown(before, after, only) * (others[name] ?? 0),
      0,
    );
    const rest = calls - (before.calls.get(name) ?? 0) - inside;
    if (rest !== 0) unexpected.set(name, rest);
  }
  return unexpected;
}

/**
 * Commands a second. A script of the monitor is a look, which asks for TIME inside, a step of the survey, which scans, or the
 * record of an owner, which is read with HMGET. What is left of TIME came from outside.
 */
export function sentBetween(before: Counts, after: Counts): Sent {
  const seconds = (after.atMs - before.atMs) / 1_000;
  const others = after.others - before.others;
  const scripts = grown(before, after, 'eval', 'evalsha') - others;
  const [surveys, records] = [grown(before, after, 'scan'), grown(before, after, 'hmget')];
  const looks = scripts - surveys - records;
  const time = grown(before, after, 'time') - looks - others;
  // The count before is one INFO of ours.
  const info = grown(before, after, 'info') - 1;
  const trail = grown(before, after, 'xrange');
  const unexpected = [...unexpectedBetween(before, after).values()].reduce(
    (sum, calls) => sum + Math.abs(calls),
    0,
  );
  const sent: Sent = {
    looks,
    surveys,
    info,
    time,
    records,
    trail,
    unexpected,
    all: scripts + time + info + trail + unexpected,
  };
  return Object.fromEntries(Object.entries(sent).map(([kind, count]) => [kind, count / seconds])) as Sent;
}

function grown({ calls: before }: Counts, { calls: after }: Counts, ...names: readonly string[]): number {
  return names.reduce((sum, name) => sum + (after.get(name) ?? 0) - (before.get(name) ?? 0), 0);
}
