/**
 * An alert: one rule about one subject, from the moment its condition is true until it has ended. This is what is stored
 * in Redis, so a monitor that takes over goes on where the last one stopped. Times are of the Redis that holds the state.
 */
import { createHash } from 'node:crypto';
import type { Level } from '../rules/rule.ts';

/**
 * How far one level of an alert has come. *inactive*: all is well. *pending*: bad, but not for long enough. *firing*:
 * bad for at least as long as the rule asks for; ends when all has been well for `keepFor`.
 */
export interface Track {
  readonly phase: 'inactive' | 'pending' | 'firing';
  /** Since when it is bad. */
  readonly sinceMs: number;
  /** While firing: since when all is well; null when it is not. */
  readonly wellSinceMs: number | null;
}

export interface Alert {
  readonly fingerprint: string;
  readonly rule: string;
  readonly subject: string;
  readonly server: string | null;
  readonly tracks: Readonly<Record<Level, Track>>;
  readonly state: 'pending' | 'firing' | 'resolved';
  /** The worst level that fires now; of a pending or ended alert the worst there was. */
  readonly level: Level;
  readonly sinceMs: number;
  readonly firedAtMs: number | null;
  readonly resolvedAtMs: number | null;
  /** `<fingerprint>.<counter>`; the counter is given when it fires. */
  readonly incident: string | null;
  /** Under which key receivers merge its messages. The incident, or the fingerprint of what was said during an outage. */
  readonly key: string;
  /** What was measured and what is allowed, in words. */
  readonly summary: string;
  /** The `evidence` of the last observation that was bad: a monitor that starts later cannot see it. */
  readonly evidence: string | null;
  /** What receivers have not been told yet, and since when it waits to be. */
  readonly due: { readonly kind: 'firing' | 'resolved'; readonly atMs: number } | null;
  /** At which levels receivers were told that it fires, and when last. */
  readonly told: { readonly levels: readonly Level[]; readonly atMs: number } | null;
}

export const INACTIVE: Track = { phase: 'inactive', sinceMs: 0, wellSinceMs: null };

export function fingerprintOf(fleet: string, rule: string, subject: string): string {
  // Lengths first: no two of these triples are the same text.
  const text = [fleet, rule, subject].map((part) => `${part.length}:${part}`).join('');
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** What of an alert is worth a write to Redis: everything but its words, which change with each look. */
export function isSameAlert(one: Alert | undefined, other: Alert): boolean {
  if (one === undefined) return false;
  return JSON.stringify({ ...one, summary: '' }) === JSON.stringify({ ...other, summary: '' });
}
