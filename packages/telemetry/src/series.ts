/** The series of one kind and group. Each is looked up in the backend once: a backend takes longer for that. */
import {
  type Add,
  type Backend,
  type Instrument,
  type Label,
  type Labels,
  LEASES_LOST,
} from './instruments.ts';

export class SeriesOfGroup {
  readonly #backend: Backend;
  /** The labels that all series have. */
  readonly base: Labels;
  /** How many acquire now, and how many leases are held now. */
  pending = 0;
  leases = 0;
  /** By instrument, then by the values of its labels. */
  readonly #series = new Map<Instrument, Map<string, Map<string, Add>>>();

  constructor(backend: Backend, base: Labels) {
    this.#backend = backend;
    this.base = base;
    for (const reason of LEASES_LOST.known ?? []) this.add(LEASES_LOST, 0, reason);
  }

  /** `values` are those of the instrument's labels, in its order; an empty one is left out. */
  add(instrument: Instrument, value: number, first = '', second = '', third = ''): void {
    let byFirst = this.#series.get(instrument);
    if (byFirst === undefined) {
      byFirst = new Map();
      this.#series.set(instrument, byFirst);
    }
    let bySecond = byFirst.get(first);
    if (bySecond === undefined) {
      bySecond = new Map();
      byFirst.set(first, bySecond);
    }
    // Only one of the two is ever there: an acquisition has a way or an error.
    const key = second === '' ? third : second;
    let add = bySecond.get(key);
    if (add === undefined) {
      add = this.#backend.series(instrument, this.#labels(instrument, [first, second, third]));
      bySecond.set(key, add);
    }
    add(value);
  }

  #labels({ labels }: Instrument, values: readonly string[]): Labels {
    const named = labels.map((label, i): [Label, string] => [label, values[i] ?? '']);
    return { ...this.base, ...Object.fromEntries(named.filter(([, value]) => value !== '')) };
  }
}
