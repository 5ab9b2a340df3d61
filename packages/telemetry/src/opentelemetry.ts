/** Traces and metrics by the API of OpenTelemetry. The caller hands the API in: this package imports none. */
import type {
  Attributes,
  Meter,
  MeterProvider,
  ObservableCallback,
  TracerProvider,
} from '@opentelemetry/api';
import { LockConfigError } from 'holdfast';
import { checkFlag, checkKnown, checkMethods, checkObject } from './checks.ts';
import { Figures } from './figures.ts';
import { checkGroups, Groups, type GroupsOption } from './groups.ts';
import {
  type Add,
  type Backend,
  INSTRUMENTS,
  type Instrument,
  type Label,
  type Labels,
  type Present,
} from './instruments.ts';
import { ATTRIBUTES, type OpenTelemetryApi } from './opentelemetry-api.ts';
import { newReport } from './report.ts';
import { Spans } from './spans.ts';
import { Subscriptions } from './subscriptions.ts';
import { type Telemetry, telemetryOf } from './telemetry.ts';

export interface OpenTelemetryOptions {
  /** Groups of lock names, as a label and in the names of spans. Without this option there is no such label. */
  readonly groups?: GroupsOption;
  /** Whether there are spans. @default true */
  readonly spans?: boolean;
  /** Whether there are metrics. @default true */
  readonly metrics?: boolean;
  /** Whether spans have the names of locks, which may be personal data. Metrics never have them. @default false */
  readonly lockNames?: boolean;
  /** @default the global one */
  readonly tracerProvider?: TracerProvider;
  /** @default the global one */
  readonly meterProvider?: MeterProvider;
}

const SCOPE = 'holdfast';
const OPTIONS = new Set(['groups', 'spans', 'metrics', 'lockNames', 'tracerProvider', 'meterProvider']);

/** Providers that a running telemetry feeds: a second one would say everything twice. */
const fed = new WeakSet<object>();

function claim(provider: object, what: string): void {
  if (fed.has(provider)) {
    throw new LockConfigError(`expected one telemetry for each ${what}, got a second one; stop the first`);
  }
  fed.add(provider);
}

function attributesOf(labels: Labels): Attributes {
  const entries = Object.entries(labels).map(([label, value]) => [ATTRIBUTES[label as Label], value]);
  return Object.fromEntries(entries) as Attributes;
}

class OpenTelemetryBackend implements Backend {
  readonly #meter: Meter;
  readonly #instruments: ReadonlyMap<Instrument, (value: number, attributes: Attributes) => void>;
  readonly #ends: (() => void)[] = [];

  constructor(meter: Meter) {
    this.#meter = meter;
    const added = INSTRUMENTS.filter(({ type }) => type !== 'updown');
    this.#instruments = new Map(added.map((instrument) => [instrument, recorderOf(meter, instrument)]));
  }

  watch({ name, unit, description }: Instrument, present: Present): void {
    const counter = this.#meter.createObservableUpDownCounter(`holdfast.${name}`, { unit, description });
    const observe: ObservableCallback = (result) => {
      for (const [labels, value] of present()) result.observe(value, attributesOf(labels));
    };
    // The SDK repeats the last value of a counter that nobody observes any more: the last one is zero.
    const observeLast: ObservableCallback = (result) => {
      for (const [labels] of present()) result.observe(0, attributesOf(labels));
      // Not while the SDK goes through its list of callbacks: it would skip the next one.
      queueMicrotask(() => counter.removeCallback(observeLast));
    };
    counter.addCallback(observe);
    this.#ends.push(() => {
      counter.removeCallback(observe);
      counter.addCallback(observeLast);
    });
  }

  /** Nothing is observed any more. */
  close(): void {
    for (const end of this.#ends) end();
  }

  series(instrument: Instrument, labels: Labels): Add {
    const record = this.#instruments.get(instrument);
    const attributes = attributesOf(labels);
    return (value) => record?.(value, attributes);
  }
}

function recorderOf(
  meter: Meter,
  { name, type, unit, description, buckets }: Instrument,
): (value: number, attributes: Attributes) => void {
  const full = `holdfast.${name}`;
  if (type === 'histogram') {
    const advice = { explicitBucketBoundaries: [...(buckets ?? [])] };
    const histogram = meter.createHistogram(full, { unit, description, advice });
    return (value, attributes) => histogram.record(value, attributes);
  }
  const counter = meter.createCounter(full, { unit, description });
  return (value, attributes) => counter.add(value, attributes);
}

function checkApi(api: unknown): void {
  checkObject(api, "the first argument (import * as api from '@opentelemetry/api')");
  const { context, trace, metrics, SpanStatusCode } = api as Partial<OpenTelemetryApi>;
  checkMethods(context, ['active', 'with'], 'context of @opentelemetry/api');
  checkMethods(trace, ['getTracerProvider', 'setSpan'], 'trace of @opentelemetry/api');
  checkMethods(metrics, ['getMeterProvider'], 'metrics of @opentelemetry/api');
  checkObject(SpanStatusCode, 'SpanStatusCode of @opentelemetry/api');
}

/**
 * From now on, what holdfast does in this process becomes spans and metrics. Call it once, after the providers have been
 * registered.
 */
export function startOpenTelemetry(api: OpenTelemetryApi, options: OpenTelemetryOptions = {}): Telemetry {
  checkApi(api);
  checkObject(options, 'the options of startOpenTelemetry');
  checkKnown(options, OPTIONS, 'startOpenTelemetry');
  const groups = checkGroups(options.groups);
  const hasSpans = checkFlag(options.spans, 'spans', true);
  const hasMetrics = checkFlag(options.metrics, 'metrics', true);
  const lockNames = checkFlag(options.lockNames, 'lockNames', false);
  if (!hasSpans && !hasMetrics) {
    throw new LockConfigError('expected spans or metrics to be on, got both off');
  }
  const tracers = options.tracerProvider ?? api.trace.getTracerProvider();
  const meters = options.meterProvider ?? api.metrics.getMeterProvider();
  checkMethods(tracers, ['getTracer'], 'tracerProvider');
  checkMethods(meters, ['getMeter'], 'meterProvider');
  if (hasSpans) claim(tracers, 'provider of tracers');
  try {
    if (hasMetrics) claim(meters, 'provider of meters');
  } catch (error) {
    if (hasSpans) fed.delete(tracers);
    throw error;
  }
  const report = newReport();
  const subscriptions = new Subscriptions(report);
  const chosen = groups === undefined ? null : new Groups(groups, report);
  // Spans first: the figures of a histogram are recorded before its span would otherwise begin.
  const spans = hasSpans
    ? new Spans(api, tracers.getTracer(SCOPE), { groups: chosen, lockNames }, subscriptions)
    : null;
  const backend = hasMetrics ? new OpenTelemetryBackend(meters.getMeter(SCOPE)) : null;
  if (backend !== null) new Figures(backend, chosen, subscriptions);
  return telemetryOf(report, [
    () => subscriptions.stop(),
    () => {
      if (hasSpans) fed.delete(tracers);
      if (hasMetrics) fed.delete(meters);
    },
    () => spans?.stop(),
    () => backend?.close(),
  ]);
}
