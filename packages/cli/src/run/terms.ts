/** The lease and the grace of `holdfast run`: what the flags may say, checked before anything is started. */
import { formatDuration } from '../duration.ts';
import { Failure } from '../failure.ts';
import { quote } from '../printable.ts';
import { graceMsMax } from './supervisor.ts';

/** The flags that the terms are made of. */
interface TermFlags {
  readonly lease: number;
  readonly grace?: number;
}

/** A shorter lease leaves no time for SIGTERM and SIGKILL. */
const LEASE_MS_MIN = 1_000;
/** Enough for most programs to clean up after SIGTERM. */
const GRACE_MS_DEFAULT = 5_000;

/** How long the lock is kept, and how long the command may take to end. */
export interface Terms {
  readonly leaseMs: number;
  readonly graceMs: number;
}

/** Why the command was ended, when the lease itself does not say. */
export function unrenewed(name: string, { leaseMs }: Terms): string {
  return `lock ${quote(name)}: its lease of ${formatDuration(leaseMs)} could not be renewed in time`;
}

export function resolveTerms({ lease: leaseMs, grace }: TermFlags): Terms {
  if (leaseMs < LEASE_MS_MIN) {
    throw new Failure(
      'usage',
      `--lease: expected at least ${formatDuration(LEASE_MS_MIN)}, got ${formatDuration(leaseMs)}`,
    );
  }
  const mostMs = graceMsMax(leaseMs);
  const graceMs = grace ?? Math.min(GRACE_MS_DEFAULT, mostMs);
  if (graceMs <= mostMs) return { leaseMs, graceMs };
  const most = `${formatDuration(mostMs)} with a lease of ${formatDuration(leaseMs)}`;
  throw new Failure(
    'usage',
    `--grace: expected at most ${most}, so that a lost command is gone in time; got ${formatDuration(graceMs)}`,
  );
}
