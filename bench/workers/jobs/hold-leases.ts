/** Holds leases that expire unless renewed, then measures what renewal costs and whether every lease survives. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RenewedLease } from '../../participants/participant.ts';
import { inChunks } from './in-chunks.ts';
import type { Job } from './job.ts';

/** Leases acquired at once: few enough that a library without a queue of its own is not overloaded at the start. */
const ACQUIRED_AT_ONCE = 100;

let held: RenewedLease[] = [];

export const hold: Job<'hold'> = async (opened, { prefix, leases, leaseMs }, onClose) => {
  const { takeRenewed } = opened;
  if (takeRenewed === undefined) throw new Error('expected a library that renews');
  held = [];
  onClose(async () => {
    await Promise.all(held.map((lease) => lease.release().catch(() => {})));
  });
  await inChunks(leases, ACQUIRED_AT_ONCE, async (i) => {
    held.push(await takeRenewed(`${prefix}:${i}:`, leaseMs));
  });
  await sleep(leaseMs);
  return null;
};

export const watch: Job<'watch'> = async (_opened, { windowMs }) => {
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  await sleep(windowMs);
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    windowMs: performance.now() - startedMs,
    cpuMs: (user + system) / 1000,
    lost: held.filter((lease) => lease.isLost()).length,
  };
};
