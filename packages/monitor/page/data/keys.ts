/** The keyboard. Letters are commands unless somebody writes; a page registers how it moves. */
import { signal } from '@preact/signals';
import { monitorTime } from './clock.ts';
import { go, type PageName, pageLink, route } from './route.ts';
import { goOn, pause, pausedAt } from './store.ts';

/** How far one key moves. */
export type Step = 'next' | 'previous' | 'page down' | 'page up' | 'first' | 'last';

/** A list that keys move through. `true` when it did something. */
export interface Moves {
  move(step: Step): boolean;
  open(): boolean;
  leave(): boolean;
}

const STEPS: Readonly<Record<string, Step>> = {
  j: 'next',
  ArrowDown: 'next',
  k: 'previous',
  ArrowUp: 'previous',
  PageDown: 'page down',
  PageUp: 'page up',
  Home: 'first',
  End: 'last',
};

const GO: Readonly<Record<string, PageName>> = {
  l: 'locks',
  j: 'jobs',
  s: 'servers',
  a: 'alerts',
  u: 'audit',
};

export const KEYS_HELP: readonly (readonly [keys: string, what: string])[] = [
  ['j k ↓ ↑', 'next, previous'],
  ['PgDn PgUp Home End', 'move far'],
  ['Enter', 'open the lock'],
  ['Esc', 'back, let go of the row, clear the filter'],
  ['/', 'filter the locks'],
  ['g l', 'Locks'],
  ['g j', 'Jobs'],
  ['g s', 'Servers'],
  ['g a', 'Alerts'],
  ['g u', 'Audit'],
  ['p', 'pause and go on'],
  ['?', 'these keys'],
];

export const isHelpOpen = signal(false);

/** On every page without a table: cards and entries, one after the other. Enter follows the first link in one. */
const itemMoves: Moves = {
  move: (step) => {
    const items = [...document.querySelectorAll<HTMLElement>('main [data-item]')];
    const index = items.findIndex((item) => item.contains(document.activeElement));
    const last = items.length - 1;
    const to = {
      next: index + 1,
      previous: index - 1,
      'page down': index + 5,
      'page up': index - 5,
      first: 0,
      last,
    };
    const item = items[Math.min(last, Math.max(0, to[step]))];
    item?.focus();
    item?.scrollIntoView({ block: 'nearest' });
    return item !== undefined;
  },
  open: () => {
    const link = document.activeElement?.matches('[data-item]')
      ? document.activeElement.querySelector('a')
      : null;
    link?.click();
    return link !== null && link !== undefined;
  },
  leave: () => false,
};

let moves: Moves = itemMoves;
/** Whether the last key was `g`: the letter of a page is awaited. */
let isGoing = false;

/** For as long as a page is shown. Returns how to stop. */
export function useKeysFor(list: Moves): () => void {
  moves = list;
  return () => {
    if (moves === list) moves = itemMoves;
  };
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select');
}

function focusFilter(): void {
  const focus = (): void => document.querySelector<HTMLInputElement>('#filter')?.focus();
  if (route.value.page === 'locks') {
    focus();
    return;
  }
  go(pageLink('locks'));
  // The page of locks is drawn after the address has changed.
  addEventListener('hashchange', () => setTimeout(focus, 0), { once: true });
}

function command(key: string): boolean {
  const page = isGoing ? GO[key] : undefined;
  isGoing = key === 'g';
  if (page !== undefined) {
    go(pageLink(page));
    return true;
  }
  const step = STEPS[key];
  if (step !== undefined) return moves.move(step);
  if (key === 'Enter') return moves.open();
  if (key === 'Escape') return goBack();
  if (key === 'g') return true;
  if (key === '/') focusFilter();
  else if (key === '?') isHelpOpen.value = true;
  else if (key === 'p') togglePause();
  else return false;
  return true;
}

function goBack(): boolean {
  if (moves.leave()) return true;
  if (route.value.page === 'locks') return false;
  go(pageLink('locks'));
  return true;
}

export function togglePause(): void {
  if (pausedAt.value === null) pause(monitorTime());
  else goOn();
}

export function watchKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    // A dialog closes itself by Esc and keeps every other key.
    if (document.querySelector('dialog[open]') !== null) return;
    const { target, key } = event;
    if (isWriting(target) && key !== 'Escape') return;
    // A button or a link that has the focus answers to Enter itself.
    if (key === 'Enter' && target instanceof HTMLElement && target.matches('button, a')) return;
    if (command(key)) event.preventDefault();
  });
}
