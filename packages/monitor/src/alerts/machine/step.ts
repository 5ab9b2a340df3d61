/**
 * The state machine of all alerts, one step a look: pure, so that a test can run hours in a moment. It decides what fires
 * and what ends. What receivers are told of it is decided in `announce.ts`.
 *
 * In this folder: the state machine and what it works on: alerts, levels, silences, announcements. No file here reads
 * a clock or asks Redis. Only `alerts/` imports from here.
 */
import type { AlertSettings, RuleSettings, Thresholds } from '../config/settings.ts';
import { type Judgement, LEVELS, type Level, type Observation, type Rule } from '../rules/rule.ts';
import { ruleOf } from '../rules/table.ts';
import { type Alert, fingerprintOf, INACTIVE } from './alert.ts';
import { isBad, summarize, thresholdsFor } from './condition.ts';
import { type Condition, stepTrack } from './track.ts';

/** An alert that has ended is shown for this long among the others; the history has it for good. */
const RESOLVED_KEPT_MS = 300_000;

/** More alerts than anybody reads. What would be the next is counted in the log of the monitor. */
const ALERTS_MAX = 5_000;

export interface MachineState {
  readonly alerts: ReadonlyMap<string, Alert>;
  /** How many incidents there have been; numbers are never given twice. */
  readonly incidents: number;
}

export interface Step extends MachineState {
  /** Alerts that were not taken up because there are too many. */
  readonly dropped: number;
}

export function step(
  state: MachineState,
  judgements: readonly Judgement[],
  settings: AlertSettings,
  nowMs: number,
): Step {
  const alerts = new Map<string, Alert>();
  let { incidents } = state;
  let dropped = 0;
  const open = openByRule(state.alerts);
  for (const judgement of judgements) {
    const rule = ruleOf(judgement.rule);
    const own = settings.rules.get(rule.id);
    if (own === undefined) continue;
    const before = open.get(rule.id) ?? new Map<string, Alert>();
    open.delete(rule.id);
    for (const { subject, observation } of subjectsOf(judgement, before)) {
      const old = before.get(subject);
      const conditions = judgeSubject(rule, own, judgement, subject, observation, old);
      if (old === undefined && conditions === null) continue;
      const next = stepAlert({ rule, own, settings, subject, observation, old, nowMs }, conditions);
      if (next === null) continue;
      if (old === undefined && alerts.size >= ALERTS_MAX) {
        dropped += 1;
        continue;
      }
      const isNew = next.state === 'firing' && next.incident === null;
      if (isNew) incidents += 1;
      const incident = isNew ? `${next.fingerprint}.${incidents}` : next.incident;
      alerts.set(next.fingerprint, isNew ? { ...next, incident, key: incident ?? next.key } : next);
    }
  }
  // What no rule looked at stays as it is.
  for (const rest of open.values()) for (const alert of rest.values()) alerts.set(alert.fingerprint, alert);
  return { alerts, incidents, dropped };
}

function openByRule(alerts: ReadonlyMap<string, Alert>): Map<string, Map<string, Alert>> {
  const open = new Map<string, Map<string, Alert>>();
  for (const alert of alerts.values()) {
    const own = open.get(alert.rule) ?? new Map<string, Alert>();
    open.set(alert.rule, own.set(alert.subject, alert));
  }
  return open;
}

/** Every subject that is observed, and every alert whose subject is not observed any more. */
function* subjectsOf(
  { observations }: Judgement,
  before: ReadonlyMap<string, Alert>,
): Generator<{ subject: string; observation: Observation | null }> {
  const seen = new Set<string>();
  for (const observation of observations) {
    seen.add(observation.subject);
    yield { subject: observation.subject, observation };
  }
  for (const subject of before.keys()) if (!seen.has(subject)) yield { subject, observation: null };
}

type Conditions = Readonly<Record<Level, Condition>>;

/** Null: nothing is bad, and there was no alert. */
function judgeSubject(
  rule: Rule,
  own: RuleSettings,
  judgement: Judgement,
  subject: string,
  observation: Observation | null,
  old: Alert | undefined,
): Conditions | null {
  const thresholds = thresholdsFor(own, rule, subject);
  if (thresholds.isOff) return old === undefined ? null : { warning: 'well', critical: 'well' };
  if (observation === null) {
    const condition = judgement.isFrozen(subject, old?.server ?? null) ? 'unknown' : 'well';
    return { warning: condition, critical: condition };
  }
  const isProof = observation.isAtLeast !== true || observation.evidence !== old?.evidence;
  const whenNotBad = isProof ? 'well' : 'unknown';
  const at = (level: Level): Condition =>
    isBad(rule, thresholds[level], observation.value, old?.tracks[level] ?? INACTIVE) ? 'bad' : whenNotBad;
  const conditions = { warning: at('warning'), critical: at('critical') };
  return old === undefined && LEVELS.every((level) => conditions[level] === 'well') ? null : conditions;
}

interface Subject {
  readonly rule: Rule;
  readonly own: RuleSettings;
  readonly settings: AlertSettings;
  readonly subject: string;
  readonly observation: Observation | null;
  readonly old: Alert | undefined;
  readonly nowMs: number;
}

/** Null: inactive, nothing to remember. */
function stepAlert(about: Subject, conditions: Conditions | null): Alert | null {
  const { rule, own, subject, observation, nowMs, old } = about;
  const thresholds = thresholdsFor(own, rule, subject);
  const terms = { forMs: thresholds.forMs, keepForMs: own.keepForMs };
  const tracks = {
    warning: stepTrack(old?.tracks.warning ?? INACTIVE, conditions?.warning ?? 'well', nowMs, terms),
    critical: stepTrack(old?.tracks.critical ?? INACTIVE, conditions?.critical ?? 'well', nowMs, terms),
  };
  const active = (['critical', 'warning'] as const).filter((level) => tracks[level].phase !== 'inactive');
  const firing = active.filter((level) => tracks[level].phase === 'firing');
  const base = old ?? begun(about);
  const [level] = firing.length > 0 ? firing : active;
  // Bad again before receivers were told of the end: they are told first, then it begins anew.
  if (level !== undefined && base.state === 'resolved' && base.due !== null) return base;
  const isKnown = conditions === null || LEVELS.some((one) => conditions[one] !== 'unknown');
  const summary =
    observation === null || level === undefined || !isKnown
      ? base.summary
      : wordsOf(about, thresholds, level);
  const isAnyBad = LEVELS.some((one) => conditions?.[one] === 'bad');
  const evidence = isAnyBad ? (observation?.evidence ?? base.evidence) : base.evidence;
  if (firing.length > 0)
    return whenFiring({ ...base, tracks, summary, evidence }, firing[0] ?? 'warning', nowMs);
  if (base.state === 'firing') return whenEnded({ ...base, tracks }, nowMs);
  if (level !== undefined) {
    const sinceMs = tracks[level].sinceMs;
    return { ...begun(about), tracks, summary, evidence, level, sinceMs };
  }
  if (base.state !== 'resolved') return null;
  const isOld = nowMs - (base.resolvedAtMs ?? nowMs) >= RESOLVED_KEPT_MS && base.due === null;
  return isOld ? null : { ...base, tracks };
}

function begun({ rule, settings, subject, observation, nowMs }: Subject): Alert {
  const fingerprint = fingerprintOf(settings.fleet, rule.id, subject);
  return {
    fingerprint,
    rule: rule.id,
    subject,
    server: observation?.server ?? null,
    tracks: { warning: INACTIVE, critical: INACTIVE },
    state: 'pending',
    level: 'warning',
    sinceMs: nowMs,
    firedAtMs: null,
    resolvedAtMs: null,
    incident: null,
    key: fingerprint,
    summary: '',
    evidence: null,
    due: null,
    told: null,
  };
}

function whenFiring(alert: Alert, level: Level, nowMs: number): Alert {
  if (alert.state !== 'firing') {
    const fresh = alert.state === 'resolved' ? { ...alert, incident: null, told: null } : alert;
    const sinceMs = alert.tracks[level].sinceMs;
    const due = { kind: 'firing', atMs: nowMs } as const;
    return { ...fresh, state: 'firing', level, sinceMs, firedAtMs: nowMs, resolvedAtMs: null, due };
  }
  const isWorse = level === 'critical' && alert.level === 'warning';
  if (!isWorse || alert.due !== null || alert.told?.levels.includes(level) === true)
    return { ...alert, level };
  return { ...alert, level, due: { kind: 'firing', atMs: nowMs } };
}

function whenEnded(alert: Alert, nowMs: number): Alert {
  // Nobody was told that it fires, so nobody is told that it ended.
  const due = alert.told === null ? null : ({ kind: 'resolved', atMs: nowMs } as const);
  return { ...alert, state: 'resolved', resolvedAtMs: nowMs, due };
}

function wordsOf({ rule, observation }: Subject, thresholds: Thresholds, level: Level): string {
  return observation === null ? '' : summarize(rule, thresholds, level, observation);
}
