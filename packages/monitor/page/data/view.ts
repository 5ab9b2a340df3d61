/**
 * The order of the table. It is made anew once a second, and not while somebody looks closely: the pointer is over it, a
 * row has the focus, or text is selected. A choice of the reader (filter, sort) takes effect at once in any case.
 */
import { computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import { monitorTime } from './clock.ts';
import { arrange, type Choice } from './order.ts';
import { allRows, forgetDeparted, pausedAt, rowsVersion } from './store.ts';

const REFRESH_MS = 1_000;

export const choice = signal<Choice>({ text: '', show: 'all', sort: 'trouble' });
/** The lock that j, k and the arrows moved to: a name, so it stays with the lock when the order changes. */
export const selected = signal<string | null>(null);

const shown = signal<readonly string[]>([]);
const reasons = signal<ReadonlySet<string>>(new Set());
const waitingNew = signal(0);

export const order: ReadonlySignal<readonly string[]> = shown;
/** Locks that would be in the table if its order were not kept. */
export const newcomers: ReadonlySignal<number> = waitingNew;
/** Why the order is kept, as words; `null` when it is not. */
export const keptBecause: ReadonlySignal<string | null> = computed(
  () => (pausedAt.value === null ? null : 'paused') ?? [...reasons.value][0] ?? null,
);

export function keepOrder(reason: string, isKept: boolean): void {
  if (reasons.value.has(reason) === isKept) return;
  const next = new Set(reasons.value);
  if (isKept) next.add(reason);
  else next.delete(reason);
  reasons.value = next;
}

function refresh(): void {
  const names = arrange(allRows(), choice.peek(), monitorTime());
  forgetDeparted();
  waitingNew.value = 0;
  shown.value = names;
}

/** While the order is kept: how many locks it misses. */
function countNewcomers(): void {
  const known = new Set(shown.value);
  const names = arrange(allRows(), choice.peek(), monitorTime());
  waitingNew.value = names.reduce((sum, name) => (known.has(name) ? sum : sum + 1), 0);
}

export function startView(): void {
  effect(() => {
    void choice.value;
    refresh();
  });
  // The first picture, and the first lock after none, are shown at once.
  effect(() => {
    void rowsVersion.value;
    if (shown.peek().length === 0) refresh();
  });
  effect(() => {
    if (keptBecause.value === null) refresh();
  });
  let drawnVersion = -1;
  setInterval(() => {
    // An order by age changes without a row changing, but only as rows become late: those are changes of rows.
    if (rowsVersion.value === drawnVersion && choice.value.show !== 'long') return;
    drawnVersion = rowsVersion.value;
    if (keptBecause.value === null) refresh();
    else countNewcomers();
  }, REFRESH_MS);
}
