/**
 * The rows of the table. Only those in sight are in the document, and the selected one: it keeps the focus when it is
 * scrolled out of sight.
 */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { now } from '../data/clock.ts';
import { type Step, useKeysFor } from '../data/keys.ts';
import { go, lockLink } from '../data/route.ts';
import { rowOf, rowOrDeparted, rowsVersion } from '../data/store.ts';
import { choice, keepOrder, order, selected } from '../data/view.ts';
import { isNarrow } from '../data/width.ts';
import { isStale } from '../parts/banners.tsx';
import { LockRow } from './lock-row.tsx';

/** The heights that rows have in the style sheets. */
const ROW_PX = 32;
const NARROW_ROW_PX = 54;
/** Rows above and below those in sight: what a fast wheel shows before the next frame. */
const OVERSCAN = 10;

const POINTER = 'the pointer is over it';
const FOCUS = 'a row has the focus';
const SELECTION = 'text is selected';

export function LockRows(): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const focused = useRef<HTMLAnchorElement | null>(null);
  const firstInSight = useSignal(0);
  const inSight = useSignal(20);
  const focusRequest = useSignal(0);
  const rowPx = isNarrow.value ? NARROW_ROW_PX : ROW_PX;
  const names = order.value;
  void rowsVersion.value;

  const measure = (): void => {
    const element = scroller.current;
    if (element === null) return;
    const height = isNarrow.peek() ? NARROW_ROW_PX : ROW_PX;
    firstInSight.value = Math.floor(element.scrollTop / height);
    inSight.value = Math.ceil(element.clientHeight / height);
  };

  const select = (index: number): void => {
    const name = order.peek()[Math.min(order.peek().length - 1, Math.max(0, index))];
    if (name === undefined) return;
    selected.value = name;
    reveal(scroller.current, order.peek().indexOf(name), isNarrow.peek() ? NARROW_ROW_PX : ROW_PX);
    measure();
    focusRequest.value += 1;
  };

  // Before the rows are seen: whoever sees them may press a key at once.
  useLayoutEffect(() => watchCloseLooks(scroller.current, measure), []);
  useLayoutEffect(() => {
    // Back from the page of a lock: to the row that one left from, if it is still there.
    const left = selected.peek() ?? '';
    if (rowOf(left) !== undefined && order.peek().includes(left)) select(order.peek().indexOf(left));
    return useKeysFor({
      move: (step) => {
        const index = order.peek().indexOf(selected.peek() ?? '');
        select(target(step, index, inSight.peek(), order.peek().length, firstInSight.peek()));
        return true;
      },
      open: () => {
        if (selected.peek() === null) return false;
        go(lockLink(selected.peek() ?? ''));
        return true;
      },
      leave,
    });
  }, []);
  useLayoutEffect(() => {
    if (focusRequest.value > 0) focused.current?.focus({ preventScroll: true });
  }, [focusRequest.value]);

  const first = Math.max(0, firstInSight.value - OVERSCAN);
  const last = Math.min(names.length, firstInSight.value + inSight.value + OVERSCAN);
  const selectedIndex = selected.value === null ? -1 : names.indexOf(selected.value);
  const indexes = Array.from({ length: Math.max(0, last - first) }, (_, offset) => first + offset);
  if (selectedIndex >= 0 && (selectedIndex < first || selectedIndex >= last)) indexes.push(selectedIndex);
  const tabStop = selectedIndex >= 0 ? selectedIndex : Math.min(firstInSight.value, names.length - 1);

  return (
    <div class={isStale() ? 'rows stale' : 'rows'} ref={scroller}>
      <ol style={{ height: `${names.length * rowPx}px` }} aria-label="Locks">
        {indexes.map((index) => {
          const name = names[index] ?? '';
          const found = rowOrDeparted(name);
          if (found === null) return null;
          return (
            <LockRow
              key={name}
              {...found}
              now={now.value}
              index={index}
              total={names.length}
              top={index * rowPx}
              isTabStop={index === tabStop}
              link={
                index === selectedIndex
                  ? (element) => {
                      focused.current = element;
                    }
                  : null
              }
            />
          );
        })}
      </ol>
    </div>
  );
}

function target(step: Step, index: number, page: number, total: number, inSight: number): number {
  if (step === 'first') return 0;
  if (step === 'last') return total - 1;
  if (index < 0) return inSight;
  if (step === 'next') return index + 1;
  if (step === 'previous') return index - 1;
  return step === 'page down' ? index + page - 1 : index - page + 1;
}

function reveal(element: HTMLElement | null, index: number, rowPx: number): void {
  if (element === null) return;
  const top = index * rowPx;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (top + rowPx > element.scrollTop + element.clientHeight) {
    element.scrollTop = top + rowPx - element.clientHeight;
  }
}

/** Esc: first out of the filter, then away from the row. */
function leave(): boolean {
  const active = document.activeElement;
  if (active instanceof HTMLInputElement) {
    if (choice.value.text === '') active.blur();
    else choice.value = { ...choice.value, text: '' };
    return true;
  }
  if (selected.value === null) return false;
  selected.value = null;
  if (active instanceof HTMLElement) active.blur();
  return true;
}

/** Keeps the order while somebody looks closely. Returns how to stop. */
function watchCloseLooks(element: HTMLElement | null, measure: () => void): () => void {
  if (element === null) return () => {};
  const end = new AbortController();
  const { signal } = end;
  element.addEventListener('scroll', measure, { signal, passive: true });
  element.addEventListener('pointerenter', () => keepOrder(POINTER, true), { signal });
  element.addEventListener('pointerleave', () => keepOrder(POINTER, false), { signal });
  element.addEventListener('focusin', () => keepOrder(FOCUS, true), { signal });
  element.addEventListener('focusout', () => keepOrder(FOCUS, false), { signal });
  const selectionChanged = (): void => {
    const selection = getSelection();
    keepOrder(
      SELECTION,
      selection !== null && !selection.isCollapsed && element.contains(selection.anchorNode),
    );
  };
  document.addEventListener('selectionchange', selectionChanged, { signal });
  const sizes = new ResizeObserver(measure);
  sizes.observe(element);
  measure();
  return () => {
    end.abort();
    sizes.disconnect();
    for (const reason of [POINTER, FOCUS, SELECTION]) keepOrder(reason, false);
  };
}
