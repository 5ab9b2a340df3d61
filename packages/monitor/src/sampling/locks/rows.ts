/** Makes the row of a name from what the lanes have seen of it. */
import type { Row } from '../../api/types.ts';
import type { NameState } from './known-names.ts';
import type { TrackedHold } from './tracked-hold.ts';

/** What one lane has seen of a name. */
export interface Seen {
  readonly server: string;
  readonly state: NameState;
  /** The server's time as ours. */
  readonly toOurs: (serverMs: number) => number;
}

export interface Owner {
  readonly app: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  /** Whether the session had a record and has none any more. */
  readonly isGone: boolean;
}

/** How exact PTTL and our clock are together: an expiry that moves by less has not moved. */
const SAME_MS = 100;

/** How long the time left must not have risen before the owner without a record counts as gone. */
const SILENT_MS = 20_000;

export interface RowTerms {
  readonly name: string;
  readonly ownerOf: (holder: string) => Owner;
  readonly now: number;
  /** Servers of a quorum; `null` where one server decides. */
  readonly members: number | null;
}

/** `null` when nobody holds it or waits for it. */
export function makeRow(seen: readonly Seen[], terms: RowTerms): Row | null {
  return terms.members === null ? rowOfOne(seen[0], terms) : rowOfMany(seen, terms, terms.members);
}

function rowOfOne(seen: Seen | undefined, terms: RowTerms): Row | null {
  if (seen === undefined) return null;
  const { state, toOurs, server } = seen;
  const { hold, waiting } = state;
  const firstWaitAt = state.firstSinceMs === null ? null : toOurs(state.firstSinceMs);
  const place = { waiting, firstWaitAt, votes: null, server };
  if (hold !== null) return heldRow(hold, seen, terms, place);
  if (waiting === 0) return null;
  return { ...FREE, name: terms.name, seenAt: state.seenAt ?? terms.now, ...place };
}

const FREE = {
  kind: 'free',
  holder: '',
  app: null,
  host: null,
  pid: null,
  grantedAt: null,
  exact: false,
  expiresAt: null,
  leaseMs: null,
  renewing: false,
  renewedAt: null,
  late: false,
  eternal: false,
  ownerGone: false,
  count: 0,
  fence: null,
} as const;

type Place = Pick<Row, 'waiting' | 'firstWaitAt' | 'votes' | 'server'>;

/** One literal, field by field: thousands are made a second, and one put together from parts takes 8 KB while it grows. */
function heldRow(hold: TrackedHold, { state, toOurs }: Seen, terms: RowTerms, place: Place): Row {
  const owner = terms.ownerOf(hold.holder);
  const renewedAt = hold.renewedMs === null ? null : toOurs(hold.renewedMs);
  const silentMs = Math.max(SILENT_MS, (hold.leaseMs ?? 0) / 2);
  const grantedAt = toOurs(hold.grantedMs);
  return {
    name: terms.name,
    kind: hold.kind,
    holder: hold.holder,
    app: owner.app,
    host: owner.host,
    pid: owner.pid,
    grantedAt,
    exact: hold.exact,
    expiresAt: hold.expiresMs === null ? null : toOurs(hold.expiresMs),
    leaseMs: hold.leaseMs,
    renewing: hold.renewing,
    renewedAt,
    late: hold.isLate,
    eternal: hold.isEternal,
    ownerGone: owner.isGone && terms.now - (renewedAt ?? grantedAt) > silentMs,
    count: hold.count,
    fence: hold.fence,
    waiting: place.waiting,
    firstWaitAt: place.firstWaitAt,
    votes: place.votes,
    server: place.server,
    seenAt: state.seenAt ?? terms.now,
  };
}

/** The holder that most servers name. It has the lock where that is a majority. */
function rowOfMany(seen: readonly Seen[], terms: RowTerms, members: number): Row | null {
  const byHolder = new Map<string, Seen[]>();
  for (const one of seen) {
    if (one.state.hold === null) continue;
    const { holder } = one.state.hold;
    byHolder.set(holder, [...(byHolder.get(holder) ?? []), one]);
  }
  const [most] = [...byHolder.values()].sort((a, b) => b.length - a.length);
  if (most === undefined) return null;
  const needed = Math.floor(members / 2) + 1;
  // The lock ends when fewer than a majority have it: by the server that is the last of a majority to end.
  const left = (one: Seen): number => one.state.hold?.expiresMs ?? Number.POSITIVE_INFINITY;
  const byEnd = [...most].sort((a, b) => b.toOurs(left(b)) - a.toOurs(left(a)));
  const decisive = byEnd[Math.min(needed, byEnd.length) - 1];
  const hold = decisive?.state.hold;
  if (decisive === undefined || hold === null || hold === undefined) return null;
  const votes = { has: most.length, of: members };
  return heldRow(hold, decisive, terms, { waiting: 0, firstWaitAt: null, votes, server: null });
}

/** Whether a majority has it, or the one server. */
export function isHeld({ kind, votes }: Row): boolean {
  return kind !== 'free' && (votes === null || votes.has > votes.of / 2);
}

type Nearly = 'expiresAt' | 'grantedAt' | 'renewedAt' | 'firstWaitAt' | 'leaseMs';
type Exact = Exclude<keyof Row, Nearly | 'votes' | 'seenAt'>;

/** Moments and lengths that are known to `SAME_MS` only. */
const NEARLY: readonly Nearly[] = ['expiresAt', 'grantedAt', 'renewedAt', 'firstWaitAt', 'leaseMs'];

/** The fields that are compared exactly: a record, so that a new field of the row cannot be forgotten. */
const EXACT_FIELDS: Readonly<Record<Exact, true>> = {
  name: true,
  kind: true,
  holder: true,
  app: true,
  host: true,
  pid: true,
  exact: true,
  renewing: true,
  late: true,
  eternal: true,
  ownerGone: true,
  count: true,
  fence: true,
  waiting: true,
  server: true,
};
const EXACT = Object.keys(EXACT_FIELDS) as readonly Exact[];

/** The row as it was, if nothing of it has changed that anybody would see. */
export function keepIfSame(before: Row | undefined, after: Row): Row {
  if (before === undefined) return after;
  const isSame =
    EXACT.every((key) => before[key] === after[key]) &&
    NEARLY.every((key) => near(before[key], after[key]) === before[key]) &&
    before.votes?.has === after.votes?.has &&
    before.votes?.of === after.votes?.of;
  if (isSame) return before;
  return {
    ...after,
    expiresAt: near(before.expiresAt, after.expiresAt),
    grantedAt: near(before.grantedAt, after.grantedAt),
    renewedAt: near(before.renewedAt, after.renewedAt),
    firstWaitAt: near(before.firstWaitAt, after.firstWaitAt),
    leaseMs: near(before.leaseMs, after.leaseMs),
  };
}

function near(before: number | null, after: number | null): number | null {
  return before !== null && after !== null && Math.abs(after - before) <= SAME_MS ? before : after;
}
