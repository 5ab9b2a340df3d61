/**
 * The picture that the page shows: what `state` brought, brought up to date by the stream.
 *
 * In this folder: what the page knows, and the browser as far as it knows of it: the stream, the clock, the address,
 * the keyboard. Nothing here draws. Only `page/` imports from here.
 */
import { batch, type ReadonlySignal, signal } from '@preact/signals';
import type { AlertView, Row, ServerCard, State, StreamEvents } from '../../src/api/types.ts';
import { stopClock } from './clock.ts';

/** All of `State` but what changes many times a second. */
export type Picture = Omit<State, 'id' | 'at' | 'locks' | 'servers' | 'alerts'>;

export const picture = signal<Picture | null>(null);
export const servers = signal<readonly ServerCard[]>([]);
export const alerts = signal<readonly AlertView[]>([]);
/** The last words for people, such as "order:1001 was taken away by ann". */
export const notice = signal<string | null>(null);

const rows = new Map<string, Row>();
/** Rows that went while the order was kept still: they are shown as gone until the order is made anew. */
const departed = new Map<string, Row>();
const version = signal(0);
const pausedSince = signal<number | null>(null);
const heldBack = signal(0);
/** Events that came while the page was paused, in order. Rows are merged: at most one change for each lock. */
let waitingLocks: { changed: Map<string, Row>; removed: Set<string>; totals: State['totals'] } | null = null;
let waitingOthers: (() => void)[] = [];

/** Counts the changes of the rows: whoever reads it is drawn anew when a row changes. */
export const rowsVersion: ReadonlySignal<number> = version;
export const pausedAt: ReadonlySignal<number | null> = pausedSince;
/** Locks that changed since the page was paused. */
export const changesHeldBack: ReadonlySignal<number> = heldBack;

export function allRows(): Iterable<Row> {
  return rows.values();
}

export function rowOf(name: string): Row | undefined {
  return rows.get(name);
}

/** The row, or what it was before it went. */
export function rowOrDeparted(name: string): { readonly row: Row; readonly isGone: boolean } | null {
  const row = rows.get(name);
  if (row !== undefined) return { row, isGone: false };
  const last = departed.get(name);
  return last === undefined ? null : { row: last, isGone: true };
}

export function forgetDeparted(): void {
  departed.clear();
}

export function replace(state: State): void {
  const { id: _id, at: _at, locks, servers: cards, alerts: views, ...rest } = state;
  batch(() => {
    waitingLocks = null;
    waitingOthers = [];
    heldBack.value = 0;
    for (const [name, row] of rows) departed.set(name, row);
    rows.clear();
    for (const row of locks) {
      rows.set(row.name, row);
      departed.delete(row.name);
    }
    picture.value = rest;
    servers.value = cards;
    alerts.value = views;
    version.value += 1;
  });
}

export function applyLocks(event: StreamEvents['locks']): void {
  if (pausedSince.value === null) {
    apply(event.changed, event.removed, event.totals);
    return;
  }
  waitingLocks ??= { changed: new Map(), removed: new Set(), totals: event.totals };
  waitingLocks.totals = event.totals;
  for (const row of event.changed) {
    waitingLocks.changed.set(row.name, row);
    waitingLocks.removed.delete(row.name);
  }
  for (const name of event.removed) {
    waitingLocks.changed.delete(name);
    waitingLocks.removed.add(name);
  }
  heldBack.value = waitingLocks.changed.size + waitingLocks.removed.size;
}

function apply(changed: Iterable<Row>, removed: Iterable<string>, totals: State['totals']): void {
  let isChanged = false;
  for (const row of changed) {
    rows.set(row.name, row);
    departed.delete(row.name);
    isChanged = true;
  }
  for (const name of removed) {
    const row = rows.get(name);
    if (row !== undefined) departed.set(name, row);
    rows.delete(name);
    isChanged = true;
  }
  batch(() => {
    if (picture.value !== null) picture.value = { ...picture.value, totals };
    if (isChanged) version.value += 1;
  });
}

function whenGoing(change: () => void): void {
  if (pausedSince.value === null) batch(change);
  else waitingOthers = [...waitingOthers.slice(-99), change];
}

export function applyServers(event: StreamEvents['servers']): void {
  whenGoing(() => {
    const cards = new Map(servers.value.map((card) => [card.id, card]));
    for (const card of event.changed) cards.set(card.id, card);
    for (const id of event.removed) cards.delete(id);
    const { topology, survey, forbidden, limits } = event;
    if (event.changed.length > 0 || event.removed.length > 0) servers.value = [...cards.values()];
    if (picture.value !== null) picture.value = { ...picture.value, topology, survey, forbidden, limits };
  });
}

export function applyAlerts(event: StreamEvents['alert']): void {
  whenGoing(() => {
    alerts.value = event.alerts;
  });
}

/** Stops the picture and its clock; the stream is read on, so that going on needs no new picture. */
export function pause(time: number): void {
  if (pausedSince.value !== null) return;
  stopClock(true);
  pausedSince.value = time;
}

export function goOn(): void {
  if (pausedSince.value === null) return;
  batch(() => {
    pausedSince.value = null;
    stopClock(false);
    for (const change of waitingOthers) change();
    if (waitingLocks !== null)
      apply(waitingLocks.changed.values(), waitingLocks.removed, waitingLocks.totals);
    waitingOthers = [];
    waitingLocks = null;
    heldBack.value = 0;
  });
}
