/**
 * A process that takes a lock again and again, a millisecond at a time, until it is told to stop. Asked for its count, it
 * says how often it has had the lock. With `busyMs` its event loop is blocked for that long at a time, nearly always.
 */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Locks } from '../../../src/index.ts';

export interface ChildPlan {
  readonly port: number;
  readonly name: string;
  readonly busyMs: number;
}

export interface ChildWord {
  readonly event: 'turns' | 'stopped';
  readonly turns: number;
}

/** Longer than a busy machine stands still: a release that was given up would end this process. */
const CALL_TIMEOUT_MS = 20_000;

const plan = JSON.parse(process.argv[2] ?? '') as ChildPlan;
const client = new Redis({ port: plan.port, host: '127.0.0.1' });
const locks = new Locks(client, { callTimeoutMs: CALL_TIMEOUT_MS });
let turns = 0;
let isStopping = false;

const say = (event: ChildWord['event']): void => {
  writeSync(1, `${JSON.stringify({ event, turns })}\n`);
};

async function keepBusy(): Promise<void> {
  while (!isStopping) {
    const untilMs = performance.now() + plan.busyMs;
    while (performance.now() < untilMs);
    // One turn of the event loop, in which everything that has come is read.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function takeTurns(): Promise<void> {
  while (!isStopping) {
    const lease = await locks.lock(plan.name).acquire();
    turns += 1;
    await sleep(1);
    await lease.release();
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === '"stop"') isStopping = true;
  else say('turns');
});
say('turns');
await Promise.all([takeTurns(), ...(plan.busyMs > 0 ? [keepBusy()] : [])]);
await locks.close();
client.disconnect();
process.stdin.destroy();
say('stopped');
