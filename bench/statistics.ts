/** Medians and spreads of a few rounds. */
export interface Summary {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export function summarise(values: readonly number[]): Summary {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN;
  return { median: at(0.5), low: at(0), high: at(1) };
}
