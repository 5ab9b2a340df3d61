/** What the rules about locks see in the figures. */
import type { Row } from '../../api/types.ts';
import { type EndedHold, type Figures, STALE_LOOK_MS, STALE_SERVER_MS } from '../../figures.ts';
import { formatDuration } from '../config/units.ts';
import { type OpenAlert, openEvidence } from './open-alerts.ts';
import type { Judgement, Observation } from './rule.ts';
import { ruleOf } from './table.ts';

/** Named in the words of an alert about several locks. */
const NAMES_MAX = 3;

type Measured = Omit<Observation, 'subject' | 'server'> | null;

const OF_ROW: Readonly<Record<string, (row: Row, at: number) => Measured>> = {
  'lock-held-long': (row, at) =>
    row.grantedAt === null
      ? null
      : {
          value: at - row.grantedAt,
          evidence: row.holder,
          isAtLeast: !row.exact,
          words: () =>
            `held for ${row.exact ? '' : 'at least '}${formatDuration(roundSeconds(at - (row.grantedAt ?? at)))} by ${ownerOf(row)}`,
        },
  'wait-long': (row, at) =>
    row.firstWaitAt === null
      ? null
      : {
          value: at - row.firstWaitAt,
          words: () =>
            `the first of ${row.waiting} waits for ${formatDuration(roundSeconds(at - (row.firstWaitAt ?? at)))}, held by ${ownerOf(row)}`,
        },
  'line-long': (row) => ({ value: row.waiting, words: () => `${row.waiting} wait, held by ${ownerOf(row)}` }),
  'owner-gone': (row) =>
    row.ownerGone
      ? { value: 1, words: () => `its owner ${ownerOf(row)} is gone`, evidence: row.holder }
      : null,
  'renewals-late': (row, at) =>
    row.late
      ? {
          value: 1,
          evidence: row.holder,
          words: () =>
            `${formatDuration(Math.max(0, (row.expiresAt ?? at) - at))} left of the lease of ${ownerOf(row)}`,
        }
      : null,
  'lock-without-expiry': (row) =>
    row.eternal ? { value: 1, words: () => `held by ${ownerOf(row)} without an expiry` } : null,
};

export function observeLocks(figures: Figures, alerts: readonly OpenAlert[]): Judgement[] {
  const rules = Object.entries(OF_ROW).map(([rule, measure]) => ({
    rule,
    measure,
    observations: [] as Observation[],
  }));
  for (const row of figures.locks.values()) {
    if (isStale(figures, row)) continue;
    for (const { measure, observations } of rules) {
      const measured = measure(row, figures.at);
      if (measured !== null) observations.push({ ...measured, subject: row.name, server: row.server });
    }
  }
  const frozenFor = (rule: string): Judgement['isFrozen'] => {
    const holders = openEvidence(rule, alerts);
    return (subject, server) =>
      isLockFrozen(figures, subject, server) ||
      isHoldUnproven(rule, figures.locks.get(subject), holders.get(subject));
  };
  const counted = ['expired', 'vanished'].map((end) => observeEnds(figures, end));
  return [
    ...rules.map(({ rule, observations }) => ({ rule, observations, isFrozen: frozenFor(rule) })),
    ...counted,
  ];
}

function observeEnds(figures: Figures, end: string): Judgement {
  const { id, windowMs } = ruleOf(end === 'expired' ? 'leases-expired' : 'locks-vanished');
  const ends = figures.endsSince(figures.at - (windowMs ?? 0)).filter((hold) => hold.end === end);
  const observation: Observation = {
    subject: figures.fleet,
    value: ends.length,
    words: () =>
      `${ends.length} ${end} within ${formatDuration(windowMs ?? 0)}: ${namesOf(ends)}${causeOf(ends)}`,
    server: null,
  };
  return { rule: id, observations: [observation], isFrozen: () => isBlind(figures) };
}

/** A lock that is not there any more is gone, unless nobody could look. */
function isLockFrozen(figures: Figures, subject: string, server: string | null): boolean {
  const row = figures.locks.get(subject);
  if (row !== undefined) return isStale(figures, row);
  if (isUnsurveyed(figures, server)) return true;
  if (!isBlind(figures)) return false;
  // One slow lane makes the whole picture old; a lock of another server can be judged all the same.
  const card = server === null ? undefined : figures.servers.get(server);
  const isSeen = card?.health === 'up' && figures.at - (card.seenAt ?? 0) <= STALE_SERVER_MS;
  return figures.servers.size === 1 || !isSeen;
}

/**
 * Of rules that judge a hold by what was seen of it before: whether this process has not seen that. A monitor that started
 * after the record of an owner was gone cannot tell whether the owner lives; the one that alerted could.
 */
const UNPROVEN: Readonly<Record<string, (row: Row) => boolean>> = {
  'owner-gone': ({ app, renewing }) => app === null && !renewing,
  'renewals-late': ({ renewing }) => !renewing,
};

/** Whether the hold of an open alert goes on, and this process cannot tell if all is well with it. */
function isHoldUnproven(rule: string, row: Row | undefined, alerted: string | null | undefined): boolean {
  return row !== undefined && row.holder === alerted && UNPROVEN[rule]?.(row) === true;
}

/** Whether this monitor may not have found the lock so far: it began a moment ago, or there are many keys. */
function isUnsurveyed({ unsurveyed, servers, topology }: Figures, server: string | null): boolean {
  if (server !== null && servers.has(server)) return unsurveyed.has(server);
  // Of a quorum each majority knows all locks; the nodes of a cluster may not all be known so far.
  const { quorum } = topology;
  return unsurveyed.size > (quorum === null ? 0 : quorum.of - quorum.needed);
}

function isStale({ at }: Figures, row: Row): boolean {
  return at - row.seenAt > STALE_LOOK_MS;
}

function isBlind({ at, lookedAt }: Figures): boolean {
  return lookedAt === null || at - lookedAt > STALE_LOOK_MS;
}

function ownerOf({ kind, holder, app, host, pid }: Row): string {
  if (kind === 'free') return 'nobody';
  const known = [app, host, pid].filter((part) => part !== null);
  return known.length > 0 ? known.join(' ') : holder;
}

function namesOf(ends: readonly EndedHold[]): string {
  const names = [...new Set(ends.map(({ name }) => name))];
  const more = names.length - NAMES_MAX;
  return `${names.slice(0, NAMES_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function causeOf(ends: readonly EndedHold[]): string {
  const causes = [...new Set(ends.flatMap(({ cause }) => cause ?? []))];
  return causes.length === 0 ? '' : ` (${causes.join(', ')})`;
}

function roundSeconds(ms: number): number {
  return Math.max(0, Math.round(ms / 1_000) * 1_000);
}
