/**
 * What the doctor says: how bad, about what, why, and what to do.
 *
 * In this folder: facts about servers, checks of one server and of several together, a trial of both kinds of lock,
 * and findings, which are what all of them bring. Only `commands/doctor.ts` imports from here.
 */

export type Level = 'ok' | 'warning' | 'problem';

export type CheckName =
  | 'reach'
  | 'version'
  | 'role'
  | 'persistence'
  | 'eviction'
  | 'replicas'
  | 'clock'
  | 'scripts'
  | 'messages'
  | 'latency'
  | 'uptime'
  | 'quorum'
  | 'cluster';

export interface Finding {
  readonly check: CheckName;
  readonly level: Level;
  /** Null when it is about all of them together. */
  readonly server: string | null;
  /** One sentence: what is, and why it matters. */
  readonly message: string;
  /** One sentence: what to do. Null when there is nothing to do. */
  readonly advice: string | null;
}

/** A finding before it is known whose it is. */
export type Verdict = Omit<Finding, 'server'>;

export function ok(check: CheckName, message: string): Verdict {
  return { check, level: 'ok', message, advice: null };
}

export function warning(check: CheckName, message: string, advice: string): Verdict {
  return { check, level: 'warning', message, advice };
}

export function problem(check: CheckName, message: string, advice: string): Verdict {
  return { check, level: 'problem', message, advice };
}

const ORDER: readonly Level[] = ['ok', 'warning', 'problem'];

export function worstOf(findings: readonly Finding[]): Level {
  return ORDER[Math.max(0, ...findings.map(({ level }) => ORDER.indexOf(level)))] ?? 'ok';
}
