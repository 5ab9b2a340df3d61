/** The SDK of OpenTelemetry with exporters in memory, for one test. */
import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  DataPointType,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { type OpenTelemetryOptions, startOpenTelemetry, type Telemetry } from '../../src/index.ts';

/** Longer than any test: metrics are exported when a test asks for them. */
const NEVER_MS = 3_600_000;

export interface MetricPoint {
  readonly attributes: api.Attributes;
  readonly value: number | Histogram;
}

export class Otel {
  readonly #spans = new InMemorySpanExporter();
  readonly tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.#spans)] });
  readonly #metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  readonly #reader = new PeriodicExportingMetricReader({
    exporter: this.#metrics,
    exportIntervalMillis: NEVER_MS,
  });
  readonly meters = new MeterProvider({ readers: [this.#reader] });
  readonly tracer: api.Tracer = this.tracers.getTracer('test');
  #telemetry: Telemetry | null = null;

  start(options: OpenTelemetryOptions = {}): Telemetry {
    const providers = { tracerProvider: this.tracers, meterProvider: this.meters };
    this.#telemetry = startOpenTelemetry(api, { ...providers, ...options });
    return this.#telemetry;
  }

  /** Spans that have ended, by the beginning of their names. */
  spans(name = ''): ReadableSpan[] {
    return this.#spans.getFinishedSpans().filter((span) => span.name.startsWith(name));
  }

  /** The only span of that name. */
  span(name: string): ReadableSpan {
    const [span, ...more] = this.spans(name);
    if (span === undefined || more.length > 0) {
      const names = this.spans().map((other) => other.name);
      throw new Error(`expected one span ${name}, got ${names.join(', ')}`);
    }
    return span;
  }

  /** Runs the work inside a span of that name. */
  inSpan<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    return this.tracer.startActiveSpan(name, async (span) => {
      try {
        return await work();
      } finally {
        span.end();
      }
    });
  }

  /** What was measured so far under that name. */
  async points(name: string): Promise<MetricPoint[]> {
    const metric = (await this.#collected()).find(({ descriptor }) => descriptor.name === name);
    // No view of ours makes exponential histograms.
    return (metric?.dataPoints ?? []) as MetricPoint[];
  }

  /** Names, types and units of all instruments that have measured something. */
  async described(): Promise<string[]> {
    const collected = await this.#collected();
    return collected.map((metric) => {
      const { descriptor, dataPointType } = metric;
      const isCounter = dataPointType === DataPointType.SUM && metric.isMonotonic;
      const type = dataPointType === DataPointType.HISTOGRAM ? 'histogram' : isCounter ? 'counter' : 'updown';
      return `${descriptor.name} ${type} ${descriptor.unit}`;
    });
  }

  async #collected() {
    this.#metrics.reset();
    await this.#reader.forceFlush();
    return this.#metrics
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics));
  }

  async end(): Promise<void> {
    this.#telemetry?.stop();
    await this.tracers.shutdown();
    await this.meters.shutdown();
  }
}

/** Gives each test an SDK of its own, in one context manager that follows awaits. */
export function useOtel(): () => Otel {
  const made: Otel[] = [];
  beforeAll(() => {
    api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  });
  afterAll(() => api.context.disable());
  afterEach(async () => {
    for (const otel of made.splice(0)) await otel.end();
  });
  return () => {
    const otel = new Otel();
    made.push(otel);
    return otel;
  };
}
