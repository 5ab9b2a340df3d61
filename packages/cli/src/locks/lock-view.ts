/**
 * A held lock as operators want to see it: what the lock says, and who its session is.
 *
 * In this folder: reading locks, jobs, lines and the audit trail through the library, and their fields as all
 * commands print them. Only `commands/`, `run/` and `program.ts` import from here.
 */
import type { Inspection } from 'holdfast';
import { formatDuration } from '../duration.ts';
import type { Column } from '../table.ts';
import {
  describeNext,
  describeSession,
  describeWaiters,
  type LineView,
  type SessionView,
  viewLine,
  viewSession,
} from './line-view.ts';

/** As it is in JSON. What is not known is null. */
export interface LockView extends SessionView, LineView {
  readonly name: string;
  /** `once`, `leader` and `job` are locks too: of a run of a once key, of a leader, of a run of a job. */
  readonly kind: 'lock' | 'mutex' | 'once' | 'leader' | 'job';
  /** `<session>:<hold number>`, or a Redisson holder. Null for a mutex: its value is a secret of its owner. */
  readonly owner: string | null;
  readonly session: string | null;
  /** Since it was granted, as its fence tells. */
  readonly heldForMs: number | null;
  /** False when somebody may have taken it since without raising the fence, as Java's RLock does. */
  readonly isHeldForExact: boolean;
  /** Null when it never expires, which no healthy lock does. */
  readonly leftMs: number | null;
  readonly holdCount: number | null;
  readonly fence: number | null;
  /** Whether its process may be keeping it although no caller there uses it (`lingerMs`). */
  readonly mayLinger: boolean;
}

export type HeldInspection = Exclude<Inspection, { kind: 'free' } | { kind: 'other' }>;

/** A lock that nobody holds and somebody waits for. */
export type FreeInspection = Extract<Inspection, { kind: 'free' }>;

export function isHeld(inspection: Inspection): inspection is HeldInspection {
  return inspection.kind !== 'free' && inspection.kind !== 'other';
}

/** Fences are microseconds since 1970; a smaller number was counted by something else. */
const FENCE_MIN = 1e15;

export function makeView(inspection: HeldInspection, serverMs: number): LockView {
  const { name, kind, ttlMs } = inspection;
  // Neither a session nor a fence is known of a mutex.
  const lock = inspection.kind === 'mutex' ? null : inspection;
  const record = lock?.record;
  const fence = lock?.fence ?? null;
  const isTimed = fence !== null && fence >= FENCE_MIN;
  return {
    name,
    kind,
    owner: lock?.owner ?? null,
    session: lock?.owner.split(':')[0] ?? null,
    ...viewSession(record),
    heldForMs: isTimed ? Math.max(0, Math.round(serverMs - fence / 1000)) : null,
    isHeldForExact: isTimed && record !== undefined,
    leftMs: ttlMs < 0 ? null : ttlMs,
    holdCount: lock?.holdCount ?? null,
    fence,
    mayLinger: inspection.mayLinger,
    ...viewLine(inspection),
  };
}

export function describeOwner(view: LockView): string {
  return describeSession(view, view.owner ?? 'somebody unknown');
}

/** Who, and for how long: `billing on host, process 12 (for 3m)`. */
export function describeHolder(view: LockView): string {
  const held = view.heldForMs === null ? '' : ` (for ${describeHeld(view).replace('<', 'less than ')})`;
  return `${describeOwner(view)}${held}`;
}

export function describeHeld({ heldForMs, isHeldForExact }: LockView): string {
  if (heldForMs === null) return '-';
  return isHeldForExact ? formatDuration(heldForMs) : `<${formatDuration(heldForMs)}`;
}

export function describeLeft({ leftMs }: LockView): string {
  return leftMs === null ? 'for ever' : formatDuration(leftMs);
}

const shown = (value: number | null): string => (value === null ? '-' : String(value));

export const LOCK_COLUMNS: readonly Column<LockView>[] = [
  { title: 'NAME', cell: ({ name }) => name, least: 12 },
  { title: 'KIND', cell: ({ kind }) => kind, rank: 2 },
  { title: 'OWNER', cell: describeOwner, least: 16 },
  { title: 'HELD', cell: describeHeld, isNumber: true },
  { title: 'LEFT', cell: describeLeft, isNumber: true },
  { title: 'COUNT', cell: ({ holdCount }) => shown(holdCount), isNumber: true, rank: 3 },
  { title: 'FENCE', cell: ({ fence }) => shown(fence), isNumber: true, rank: 4 },
  { title: 'WAITERS', cell: describeWaiters, isNumber: true, rank: 1 },
  { title: 'NEXT', cell: describeNext, least: 16, rank: 5 },
];
