/** Times as people write them: `500ms`, `30s`, `1.5m`. */

/** The longest time of a timer of Node. One that is set for longer fires at once. */
export const TIMER_MS_MAX: number = 2 ** 31 - 1;

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** Milliseconds, or null for what is no duration. A number without a unit is none: people mean different ones. */
export function parseDurationMs(text: string): number | null {
  const [, count, unit = ''] = DURATION.exec(text) ?? [];
  return count === undefined ? null : Math.round(Number(count) * (UNITS_MS[unit] ?? 0));
}

/** The two largest units that matter: `350ms`, `4.2s`, `3m 20s`, `2h 5m`, `3d 4h`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds}s`;
  const steps: readonly (readonly [string, number])[] = [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
    ['s', 1],
  ];
  const at = steps.findIndex(([, length]) => seconds >= length);
  const parts = steps.slice(at, at + 2).map(([unit, length], index) => {
    const whole = index === 0 ? seconds : seconds % (steps[at]?.[1] ?? 1);
    return [Math.floor(whole / length), unit] as const;
  });
  return parts
    .filter(([count], index) => index === 0 || count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ');
}
