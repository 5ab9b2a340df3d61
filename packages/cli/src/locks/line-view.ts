/** Who waits for a lock, as operators want to see it: in which place, for how long, and who the sessions are. */
import type { InspectedLine, SessionRecord } from 'holdfast';
import { formatDuration } from '../duration.ts';
import { type Line, styled } from '../output.ts';
import { printable } from '../printable.ts';

/** As it is in JSON. What is not known is null. */
export interface WaiterView {
  /** 1 is the next owner. */
  readonly place: number;
  readonly session: string;
  readonly application: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  readonly waitedMs: number;
  /** False: it would not hear of its turn, so it is passed over. */
  readonly isListening: boolean;
}

export interface LineView {
  /** Processes in the line; in a quorum, which has none, processes that listen for the release. */
  readonly waiters: number;
  /** Connections that listen without a place in the line: waiters of other libraries. */
  readonly guests: number;
  /** The first of those who wait. */
  readonly line: readonly WaiterView[];
}

/** Who a session is; all null when it does not say. */
export interface SessionView {
  readonly application: string | null;
  readonly host: string | null;
  readonly pid: number | null;
}

export function viewSession(record: SessionRecord | undefined): SessionView {
  return { application: record?.application ?? null, host: record?.host ?? null, pid: record?.pid ?? null };
}

export function viewLine({ waiters, guests, line }: InspectedLine): LineView {
  return {
    waiters,
    guests,
    line: line.map(({ place, session, record, waitedMs, isListening }) => ({
      place,
      session,
      ...viewSession(record),
      waitedMs,
      isListening,
    })),
  };
}

/** `billing on host, process 12`, or what is known instead. */
export function describeSession({ application, host, pid }: SessionView, instead: string): string {
  if (application === null) return printable(instead);
  return printable(`${application} on ${host ?? '?'}, process ${pid ?? '?'}`);
}

/** `3`, or `3+1` with one guest. */
export function describeWaiters({ waiters, guests }: LineView): string {
  return guests === 0 ? String(waiters) : `${waiters}+${guests}`;
}

/** Who comes next, and for how long that one has waited. */
export function describeNext({ line: [next] }: LineView): string {
  return next === undefined ? '-' : describeWaiter(next);
}

function describeWaiter(waiter: WaiterView): string {
  const deaf = waiter.isListening ? '' : ', does not listen';
  return `${describeSession(waiter, waiter.session)} (${formatDuration(waiter.waitedMs)}${deaf})`;
}

/** One line of output for each who waits, below a title. */
export function describeLine({ waiters, line }: LineView, title: string): Line[] {
  const width = String(line.length).length;
  const rows = line.map((waiter) => `${String(waiter.place).padStart(width)}  ${describeWaiter(waiter)}`);
  // In a quorum there is no line to show.
  if (rows.length > 0 && waiters > rows.length) rows.push(`… and ${waiters - rows.length} more`);
  return rows.map((row, index) => [styled('dim', index === 0 ? title : ' '.repeat(title.length)), row]);
}
