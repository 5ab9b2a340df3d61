/** Medians and spreads over rounds, and how evenly turns were shared. */
export interface Summary {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export function summarise(values: readonly number[]): Summary {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? Number.NaN;
  const middle = (sorted.length - 1) / 2;
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    low: at(0),
    high: at(sorted.length - 1),
  };
}

export function median(values: readonly number[]): number {
  return summarise(values).median;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Jain's index: 1 when all got the same, 1/n when one got everything. */
export function jain(shares: readonly number[]): number {
  const squares = sum(shares.map((share) => share * share));
  return squares === 0 ? Number.NaN : sum(shares) ** 2 / (shares.length * squares);
}
