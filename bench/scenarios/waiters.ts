/**
 * Many waiters on one key in one process with an empty section: hand-overs a second and commands for each, with
 * a counter that would show a broken exclusion.
 */
import { Redis } from 'ioredis';
import type { Contestant } from '../contestant.ts';
import { type Summary, summarise } from '../statistics.ts';

export interface WaitersRow {
  readonly name: string;
  /** Hand-overs a second as a multiple of the first contestant's in the same round. */
  readonly ratio: Summary;
  /** Redis commands that clients sent, for each acquisition. */
  readonly commands: Summary;
  /** Sections that overlapped another. */
  readonly violations: number;
}

export interface WaitersPlan {
  readonly waiters: number;
  readonly rounds: number;
  readonly roundMs: number;
}

interface Tally {
  readonly perSecond: number;
  readonly commands: number;
  readonly violations: number;
}

/** What clients send here. The server also counts what scripts call, which nobody sent. */
const SENT_COMMANDS: ReadonlySet<string> = new Set(['evalsha', 'eval', 'subscribe', 'unsubscribe']);

async function commandsSent(admin: Redis): Promise<number> {
  const stats = await admin.info('commandstats');
  let sent = 0;
  for (const [, command = '', calls] of stats.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)) {
    if (SENT_COMMANDS.has(command)) sent += Number(calls);
  }
  return sent;
}

async function play(contestant: Contestant, admin: Redis, plan: WaitersPlan): Promise<Tally> {
  const key = `waiters:${contestant.name}`;
  let inside = 0;
  let violations = 0;
  let acquisitions = 0;
  const section = (): void => {
    inside += 1;
    if (inside > 1) violations += 1;
    acquisitions += 1;
    inside -= 1;
  };
  await admin.config('RESETSTAT');
  const startedMs = performance.now();
  const loop = async (): Promise<void> => {
    while (performance.now() - startedMs < plan.roundMs) await contestant.under?.(key, section);
  };
  await Promise.all(Array.from({ length: plan.waiters }, loop));
  const seconds = (performance.now() - startedMs) / 1000;
  const commands = (await commandsSent(admin)) / acquisitions;
  return { perSecond: acquisitions / seconds, commands, violations };
}

export async function waiters(
  port: number,
  contestants: readonly Contestant[],
  plan: WaitersPlan,
): Promise<WaitersRow[]> {
  const admin = new Redis(port, '127.0.0.1');
  const tallies = new Map<Contestant, Tally[]>(contestants.map((contestant) => [contestant, []]));
  for (const contestant of contestants) await play(contestant, admin, { ...plan, roundMs: plan.roundMs / 2 });
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const contestant of contestants) {
      tallies.get(contestant)?.push(await play(contestant, admin, plan));
    }
  }
  admin.disconnect();
  const base = tallies.get(contestants[0] as Contestant) ?? [];
  return contestants.map((contestant) => {
    const own = tallies.get(contestant) ?? [];
    return {
      name: contestant.name,
      ratio: summarise(own.map((tally, i) => tally.perSecond / (base[i]?.perSecond ?? Number.NaN))),
      commands: summarise(own.map((tally) => tally.commands)),
      violations: own.reduce((sum, tally) => sum + tally.violations, 0),
    };
  });
}
