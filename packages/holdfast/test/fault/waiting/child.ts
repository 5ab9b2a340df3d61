/**
 * A process that wants a lock, in the way its first argument says:
 *
 * - `waiter`: acquires, says so, and releases when told to.
 * - `dies-woken`: waits, and from a word on kills itself when it is woken, before it can use or ask for the lock.
 * - `dies-granted`: acquires, and kills itself the moment it has it.
 * - `greedy`: many callers that take the lock in turn without end, until told to stop. Asked for its count, it says it.
 * - `tight`: one caller that acquires and releases without end, likewise.
 */
import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { CHANNELS, Locks } from '../../../src/index.ts';

export interface ChildPlan {
  readonly mode: 'waiter' | 'dies-woken' | 'dies-granted' | 'greedy' | 'tight';
  readonly port: number;
  readonly kind: 'lock' | 'mutex';
  readonly name: string;
  readonly leaseMs: number;
  readonly handovers: number;
  readonly claimMs: number;
}

/** What it says; `rounds` is how often it has had the lock. */
export interface ChildWord {
  readonly event: 'ready' | 'armed' | 'counted' | 'acquired' | 'released' | 'stopped';
  readonly rounds: number;
  readonly fence?: number;
}

const GREEDY_CALLERS = 20;
/** Longer than a busy machine stands still: a release that was given up would end this process. */
const CALL_TIMEOUT_MS = 20_000;

const plan = JSON.parse(process.argv[2] ?? '') as ChildPlan;
const client = new Redis({ port: plan.port, host: '127.0.0.1' });
const { leaseMs, handovers, claimMs } = plan;
const locks = new Locks(client, { leaseMs, handovers, claimMs, callTimeoutMs: CALL_TIMEOUT_MS });
const lock = plan.kind === 'lock' ? locks.lock(plan.name) : locks.mutex(plan.name);
let rounds = 0;
let isStopping = false;

// Written at once: what is still buffered when a process is killed is never said.
const say = (event: ChildWord['event'], fence?: number): void => {
  writeSync(1, `${JSON.stringify({ event, rounds, fence })}\n`);
};

const die = (): void => {
  process.kill(process.pid, 'SIGKILL');
};

async function take(): Promise<void> {
  await lock.using(() => {
    rounds += 1;
    if (rounds === 1) say('ready');
  });
}

async function loop(): Promise<void> {
  while (!isStopping) await take();
}

async function tightLoop(): Promise<void> {
  while (!isStopping) {
    const lease = await lock.acquire();
    rounds += 1;
    if (rounds === 1) say('ready');
    await lease.release();
  }
}

async function end(): Promise<void> {
  await locks.close();
  client.disconnect();
  process.stdin.destroy();
  say('stopped');
}

const told = createInterface({ input: process.stdin });

if (plan.mode === 'greedy' || plan.mode === 'tight') {
  told.on('line', (line) => {
    if (line === '"stop"') isStopping = true;
    else say('counted');
  });
  const callers = Array.from({ length: plan.mode === 'greedy' ? GREEDY_CALLERS : 1 }, () =>
    plan.mode === 'greedy' ? loop() : tightLoop(),
  );
  await Promise.all(callers);
  await end();
} else {
  if (plan.mode === 'dies-woken') {
    // Not before: it asks now and then while the other process takes its time to start.
    told.once('line', () => {
      subscribe(CHANNELS.woken, die);
      say('armed');
    });
  }
  say('ready');
  const lease = await lock.acquire();
  rounds += 1;
  say('acquired', 'fence' in lease && typeof lease.fence === 'number' ? lease.fence : undefined);
  if (plan.mode === 'dies-granted') die();
  await new Promise((resolve) => told.once('line', resolve));
  await lease.release();
  say('released');
  await end();
}
