/**
 * A histogram for a registry of `prom-client`. That library's own takes several microseconds for a value, because it puts all
 * labels into one text each time: more than everything else that telemetry does for a lock. The registry asks a metric for
 * nothing but `get`.
 */
import type { Registry } from 'prom-client';
import type { Add } from '../instruments.ts';

type RegisteredMetric = Parameters<Registry['registerMetric']>[0];

interface HistogramConfig {
  readonly name: string;
  readonly help: string;
  readonly buckets: readonly number[];
}

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /** How many values each bucket alone has; the last is for what is beyond all of them. */
  counts: number[];
  sum: number;
}

interface Value {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export class PrometheusHistogram {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly #buckets: readonly number[];
  readonly #series: Series[] = [];

  constructor({ name, help, buckets }: HistogramConfig) {
    this.name = name;
    this.help = help;
    this.#buckets = buckets;
  }

  registerIn(registry: Registry): void {
    registry.registerMetric(this as unknown as RegisteredMetric);
  }

  series(labels: Readonly<Record<string, string>>): Add {
    const series: Series = { labels, counts: this.#zeros(), sum: 0 };
    this.#series.push(series);
    return (value) => {
      let bucket = 0;
      while (bucket < this.#buckets.length && value > (this.#buckets[bucket] as number)) bucket += 1;
      series.counts[bucket] = (series.counts[bucket] as number) + 1;
      series.sum += value;
    };
  }

  /** Read by the registry. */
  async get(): Promise<object> {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: this.#series.flatMap((series) => this.#valuesOf(series)) };
  }

  /** Called by `resetMetrics` of the registry. */
  reset(): void {
    for (const series of this.#series) {
      series.counts = this.#zeros();
      series.sum = 0;
    }
  }

  #zeros(): number[] {
    return new Array(this.#buckets.length + 1).fill(0);
  }

  /** A bucket of Prometheus also counts the values of all smaller ones. */
  #valuesOf({ labels, counts, sum }: Series): Value[] {
    let count = 0;
    const buckets = counts.map((own, i): Value => {
      count += own;
      const le = this.#buckets[i] ?? '+Inf';
      return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
