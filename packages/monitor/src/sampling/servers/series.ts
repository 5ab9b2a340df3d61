/** The history of one server's figures: fixed arrays, 720 points of 5 s for each series. */
import { type History, SERIES, type SeriesName } from '../../api/types.ts';

export const STEP_MS = 5_000;
const POINTS = 720;

export class Series {
  readonly #times = new Float64Array(POINTS);
  readonly #values = new Map<SeriesName, Float64Array>(
    SERIES.map((name) => [name, new Float64Array(POINTS).fill(Number.NaN)]),
  );
  #count = 0;

  add(at: number, values: Readonly<Partial<Record<SeriesName, number | null>>>): void {
    const place = this.#count % POINTS;
    this.#times[place] = at;
    for (const [name, column] of this.#values) column[place] = values[name] ?? Number.NaN;
    this.#count += 1;
  }

  /** Since when there is something; `null` while there is nothing. */
  get since(): number | null {
    return this.#count === 0 ? null : (this.#times[this.#first] ?? null);
  }

  get #first(): number {
    return this.#count <= POINTS ? 0 : this.#count % POINTS;
  }

  read(server: string, names: readonly SeriesName[]): History {
    const length = Math.min(this.#count, POINTS);
    const inOrder = (column: Float64Array): number[] =>
      Array.from({ length }, (_, i) => column[(this.#first + i) % POINTS] ?? Number.NaN);
    const series: Partial<Record<SeriesName, readonly (number | null)[]>> = {};
    for (const name of names) {
      const column = this.#values.get(name);
      if (column === undefined) continue;
      series[name] = inOrder(column).map((value) => (Number.isNaN(value) ? null : value));
    }
    return { server, stepMs: STEP_MS, times: inOrder(this.#times), series };
  }
}
