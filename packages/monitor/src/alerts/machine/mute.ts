/** Silences and acknowledgements. Both match alerts, have a reason and an author, and end by themselves. */
import type { AlertMatch } from '../../api/types.ts';
import type { Alert } from './alert.ts';

/** `silence`: nothing is sent. `ack`: no repeats are sent. */
export interface Mute {
  readonly id: string;
  readonly kind: 'silence' | 'ack';
  readonly match: AlertMatch;
  readonly by: string;
  readonly reason: string;
  readonly atMs: number;
  readonly untilMs: number;
}

/** Every field of the match that is given must fit; a subject may end in `*`. A match without fields fits nothing. */
export function fits(match: AlertMatch, { fingerprint, rule, subject }: Alert): boolean {
  const wanted = [match.fingerprint, match.rule, match.subject];
  if (wanted.every((field) => field === undefined)) return false;
  if (match.fingerprint !== undefined && match.fingerprint !== fingerprint) return false;
  if (match.rule !== undefined && match.rule !== rule) return false;
  return match.subject === undefined || fitsSubject(match.subject, subject);
}

/** The mute of that kind that ends last, among those in force. */
export function muteOf(
  mutes: readonly Mute[],
  kind: Mute['kind'],
  alert: Alert,
  nowMs: number,
): Mute | undefined {
  return mutes
    .filter((mute) => mute.kind === kind && isInForce(mute, nowMs) && isMeant(mute, alert))
    .sort((one, other) => other.untilMs - one.untilMs)[0];
}

export function isInForce({ untilMs }: Mute, nowMs: number): boolean {
  return nowMs < untilMs;
}

/** An acknowledgement is of what its author saw: it does not cover an incident that fires later. */
function isMeant({ kind, match, atMs }: Mute, alert: Alert): boolean {
  if (!fits(match, alert)) return false;
  return kind === 'silence' || (alert.firedAtMs !== null && alert.firedAtMs <= atMs);
}

function fitsSubject(pattern: string, subject: string): boolean {
  return pattern.endsWith('*') ? subject.startsWith(pattern.slice(0, -1)) : subject === pattern;
}
