/** One replica of a job, or a candidate for leader, whose clock on the wall is wrong. Every start is written into Redis. */
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { Locks } from '../../../src/index.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { StallWatch } from '../../support/processes/stall-watch.ts';
import { nextWord, readTask, reportTrouble, say } from '../children/talk.ts';

export interface ReplicaTask {
  readonly port: number;
  readonly does: 'job' | 'leader';
  readonly leaseMs: number;
  /** How far the clock of this machine is off. */
  readonly skewMs: number;
  readonly everyMs: number;
  readonly attempts: number;
  /** How long a body works. */
  readonly workMs: number;
}

export interface ReplicaLine {
  readonly ready?: true;
  readonly told?: string;
  /** The longest stall of this process so far, with each event. */
  readonly stalledMs?: number;
}

/** With the server's time, in one step. */
const NOTE = `local time = redis.call('TIME')
return redis.call('RPUSH', KEYS[1], ARGV[1] .. ' ' .. time[1] * 1000 + math.floor(time[2] / 1000))`;

reportTrouble();
const task = readTask<ReplicaTask>();
const { port, does, leaseMs, skewMs, everyMs, attempts, workMs } = task;
const redis = new Redis({ port });
const clock = {
  monotonicMs: () => systemClock.monotonicMs(),
  wallMs: () => systemClock.wallMs() + skewMs,
  startTimer: systemClock.startTimer,
};
const locks = new Locks(new Redis({ port, lazyConnect: true }), { leaseMs, clock });

async function work(signal: AbortSignal): Promise<void> {
  const timer = setTimeout(() => over.abort(), workMs);
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  if (!either.aborted) await once(either, 'abort');
  clearTimeout(timer);
}

if (does === 'job') {
  locks.schedule('tick', { everyMs, attempts }, async ({ slot, attempt, fence, signal }) => {
    await redis.eval(NOTE, 1, 'starts', `${slot.getTime()} ${attempt} ${fence} ${process.pid}`);
    await work(signal);
  });
} else {
  const watch = new StallWatch();
  const leader = locks.leader('boss', { graceMs: 60_000 });
  for (const event of ['elected', 'lost', 'resigned', 'stuck'] as const) {
    leader.on(event, () => say({ told: event, stalledMs: watch.longestMs }));
  }
  void leader.run(async ({ signal, fence }) => {
    await redis.eval(NOTE, 1, 'terms', `began ${fence} ${process.pid}`);
    await work(signal);
    await redis.eval(NOTE, 1, 'terms', `ended ${fence} ${process.pid}`);
  });
}
say({ ready: true });
await nextWord();
await locks.close();
redis.disconnect();
