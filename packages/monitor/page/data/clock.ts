/** The monitor's clock as this browser knows it. The page counts all ages and times left by it. */
import { type ReadonlySignal, signal } from '@preact/signals';

const TICK_MS = 250;
/** For people who asked their system for less motion: figures change, but calmly. */
const CALM_TICK_MS = 1_000;

let skewMs = 0;
/** How far `skewMs` may be wrong: half the round trip that it was measured by. */
let errorMs = Number.POSITIVE_INFINITY;
let stoppedAt: number | null = null;

const ticking = signal(Date.now());

/** The time that the page shows. Changes four times a second, and not while the page is paused. */
export const now: ReadonlySignal<number> = ticking;

export function monitorTime(): number {
  return stoppedAt ?? Date.now() + skewMs;
}

/** `at`: the monitor's time in an answer that was asked for `tookMs` ago. */
export function measureSkew(at: number, tookMs: number): void {
  const measuredErrorMs = tookMs / 2;
  // A stream's events are never asked for, so they correct only a clock that has gone wrong by more than they can be late.
  if (measuredErrorMs > errorMs && Math.abs(at - Date.now() - skewMs) < 2_000) return;
  skewMs = at + measuredErrorMs - Date.now();
  errorMs = measuredErrorMs;
  ticking.value = monitorTime();
}

export function stopClock(isStopped: boolean): void {
  stoppedAt = isStopped ? monitorTime() : null;
  ticking.value = monitorTime();
}

export function startClock(): void {
  const calm = matchMedia('(prefers-reduced-motion: reduce)');
  const tick = (): void => {
    if (document.visibilityState === 'visible') ticking.value = monitorTime();
    setTimeout(tick, calm.matches ? CALM_TICK_MS : TICK_MS);
  };
  tick();
}
