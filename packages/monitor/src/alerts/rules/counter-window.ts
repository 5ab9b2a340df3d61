/** By how much counters of servers grew within a window, like `increase()` of Prometheus. */

interface Sample {
  readonly at: number;
  readonly total: number;
}

/** Samples closer together than this are one: the window is minutes long. */
const STEP_MS = 1_000;

export class CounterWindows {
  readonly #series = new Map<string, Sample[]>();

  /** Adds the value of now, and returns the growth since the window began. A counter that falls was reset. */
  increase(name: string, total: number, at: number, windowMs: number): number {
    const samples = this.#series.get(name) ?? [];
    this.#series.set(name, samples);
    const last = samples.at(-1);
    if (last === undefined || last.total !== total || at - last.at >= STEP_MS) samples.push({ at, total });
    // The youngest sample before the window stays: growth is counted from it.
    while ((samples[1]?.at ?? Number.POSITIVE_INFINITY) <= at - windowMs) samples.shift();
    let growth = 0;
    for (let index = 1; index < samples.length; index += 1) {
      const before = samples[index - 1]?.total ?? 0;
      const now = samples[index]?.total ?? 0;
      growth += now >= before ? now - before : now;
    }
    return growth;
  }
}
