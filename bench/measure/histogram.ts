/**
 * Durations in buckets that grow by a twentieth, so that millions of values of several processes can be merged. A
 * quantile is exact to within a twentieth; the largest value is kept as it is.
 */
const FLOOR_MS = 0.001;
const GROWTH = 1.05;
const BUCKETS = 400;

export interface HistogramData {
  readonly counts: readonly number[];
  readonly maxMs: number;
}

export class Histogram {
  readonly #counts: number[] = new Array<number>(BUCKETS).fill(0);
  #maxMs = 0;

  add(valueMs: number): void {
    const bucket = Math.ceil(Math.log(Math.max(valueMs, FLOOR_MS) / FLOOR_MS) / Math.log(GROWTH));
    const index = Math.min(bucket, BUCKETS - 1);
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#maxMs = Math.max(this.#maxMs, valueMs);
  }

  merge({ counts, maxMs }: HistogramData): void {
    for (const [i, count] of counts.entries()) this.#counts[i] = (this.#counts[i] ?? 0) + count;
    this.#maxMs = Math.max(this.#maxMs, maxMs);
  }

  get maxMs(): number {
    return this.#maxMs;
  }

  quantileMs(share: number): number {
    const total = this.#counts.reduce((all, count) => all + count, 0);
    let seen = 0;
    for (const [i, count] of this.#counts.entries()) {
      seen += count;
      if (count > 0 && seen >= share * total) return Math.min(FLOOR_MS * GROWTH ** i, this.#maxMs);
    }
    return Number.NaN;
  }

  toData(): HistogramData {
    return { counts: this.#counts, maxMs: this.#maxMs };
  }
}
