/** Quantities as people write them in the configuration: `10m`, `80%`, `2GB`. Null stands for text that is none. */

const DURATIONS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const BYTES: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1_024,
  MB: 1_024 ** 2,
  GB: 1_024 ** 3,
  TB: 1_024 ** 4,
};

/** Longer is a slip of the unit: no lock is meant to be held for a year. */
const DURATION_MS_MAX = 366 * 86_400_000;

/** A number without a unit is no duration: some people mean seconds, some milliseconds. */
export const DURATION_PATTERN = '^\\d+(\\.\\d+)?(ms|s|m|h|d)$';
export const SHARE_PATTERN = '^(100|\\d{1,2}(\\.\\d+)?)%$';
export const BYTES_PATTERN = '^\\d+(\\.\\d+)?(B|KB|MB|GB|TB)$';

export function parseDurationMs(text: string): number | null {
  const ms = scaled(text, DURATION_PATTERN, DURATIONS_MS);
  return ms === null || ms > DURATION_MS_MAX ? null : Math.round(ms);
}

/** `80%` is 0.8. */
export function parseShare(text: string): number | null {
  return new RegExp(SHARE_PATTERN).test(text) ? Number.parseFloat(text) / 100 : null;
}

export function parseBytes(text: string): number | null {
  const bytes = scaled(text, BYTES_PATTERN, BYTES);
  return bytes === null ? null : Math.round(bytes);
}

/** The largest unit that says it in a few digits: `0s`, `250ms`, `90s`, `10m`, `2h`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return ms === 0 ? '0s' : `${Math.round(ms)}ms`;
  for (const [unit, size] of [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
  ] as const) {
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  if (ms >= 2 * 3_600_000) return `${(ms / 3_600_000).toFixed(1)}h`;
  if (ms >= 10 * 60_000) return `${Math.round(ms / 60_000)}m`;
  return ms < 10_000 ? `${Number((ms / 1_000).toFixed(1))}s` : `${Math.round(ms / 1_000)}s`;
}

export function formatShare(share: number): string {
  return `${Number((share * 100).toFixed(1))}%`;
}

function scaled(text: string, pattern: string, units: Readonly<Record<string, number>>): number | null {
  if (!new RegExp(pattern).test(text)) return null;
  const unit = /[A-Za-z]+$/.exec(text)?.[0] ?? '';
  return Number.parseFloat(text) * (units[unit] ?? 0);
}
