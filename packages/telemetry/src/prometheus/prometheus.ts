/**
 * Metrics in a registry of `prom-client`. The caller hands the library in: this package imports none.
 *
 * In this folder: the entry for Prometheus, and a histogram of our own. Only `index.ts` imports from here.
 */

import { LockConfigError } from 'holdfast';
import type { Counter, Gauge, Registry } from 'prom-client';
import { checkKnown, checkMethods, checkObject } from '../checks.ts';
import { Figures } from '../figures.ts';
import { checkGroups, Groups, type GroupsOption } from '../groups.ts';
import {
  type Add,
  type Backend,
  GROUPS_OVERFLOW,
  INSTRUMENTS,
  type Instrument,
  type Label,
  type Labels,
  type Present,
} from '../instruments.ts';
import { newReport } from '../report.ts';
import { Subscriptions } from '../subscriptions.ts';
import { type Telemetry, telemetryOf } from '../telemetry.ts';
import { PrometheusHistogram } from './histogram.ts';

/** `prom-client`, as far as it is used here: `import * as client from 'prom-client'`. */
export interface PromClient {
  readonly Counter: typeof Counter;
  readonly Gauge: typeof Gauge;
  readonly register: Registry;
}

export interface PrometheusOptions {
  /** Groups of lock names, as a label. Without this option there is no such label. */
  readonly groups?: GroupsOption;
  /** @default the global registry of `prom-client` */
  readonly registry?: Registry;
}

const OPTIONS = new Set(['groups', 'registry']);

function nameOf({ name, suffix }: Instrument): string {
  return `holdfast_${name.replaceAll('.', '_')}${suffix}`;
}

function labelNamesOf(instrument: Instrument, hasGroups: boolean): Label[] {
  if (instrument === GROUPS_OVERFLOW) return [];
  // The outcome says as much as the code of the error.
  const own = instrument.labels.filter((label) => label !== 'error_type');
  return hasGroups ? ['kind', 'group', ...own] : ['kind', ...own];
}

class PrometheusBackend implements Backend {
  readonly #client: PromClient;
  readonly #registry: Registry;
  readonly #hasGroups: boolean;
  readonly #series: ReadonlyMap<Instrument, (labels: Labels) => Add>;

  constructor(client: PromClient, registry: Registry, hasGroups: boolean) {
    this.#client = client;
    this.#registry = registry;
    this.#hasGroups = hasGroups;
    const added = INSTRUMENTS.filter(
      (instrument) => instrument.type !== 'updown' && (hasGroups || instrument !== GROUPS_OVERFLOW),
    );
    this.#series = new Map(
      added.map((instrument) => [
        instrument,
        metricOf(client, registry, instrument, labelNamesOf(instrument, hasGroups)),
      ]),
    );
  }

  watch(instrument: Instrument, present: Present): void {
    const labelNames = labelNamesOf(instrument, this.#hasGroups);
    new this.#client.Gauge({
      name: nameOf(instrument),
      help: instrument.description,
      labelNames,
      registers: [this.#registry],
      collect() {
        for (const [labels, value] of present()) this.set(completed(labelNames, labels), value);
      },
    });
  }

  series(instrument: Instrument, labels: Labels): Add {
    return this.#series.get(instrument)?.(labels) ?? (() => {});
  }

  /** Removes the metrics from the registry. */
  close(): void {
    for (const instrument of INSTRUMENTS) this.#registry.removeSingleMetric(nameOf(instrument));
  }
}

/** Every label has a value; an empty one counts as none. */
function completed(labelNames: readonly Label[], labels: Labels): Record<string, string> {
  return Object.fromEntries(labelNames.map((name) => [name, labels[name] ?? '']));
}

function metricOf(
  client: PromClient,
  registry: Registry,
  instrument: Instrument,
  labelNames: Label[],
): (labels: Labels) => Add {
  const { description: help, buckets = [] } = instrument;
  const name = nameOf(instrument);
  if (instrument.type === 'histogram') {
    const histogram = new PrometheusHistogram({ name, help, buckets });
    histogram.registerIn(registry);
    return (labels) => histogram.series(completed(labelNames, labels));
  }
  const counter = new client.Counter({ name, help, labelNames, registers: [registry] });
  return (labels) => {
    const child = counter.labels(completed(labelNames, labels));
    return (value) => child.inc(value);
  };
}

function checkClient(client: unknown): asserts client is PromClient {
  checkObject(client, "the first argument (import * as client from 'prom-client')");
  for (const name of ['Counter', 'Gauge'] as const) {
    const got = typeof (client as Partial<PromClient>)[name];
    if (got !== 'function') throw new LockConfigError(`expected ${name} of prom-client, got ${got}`);
  }
}

/** From now on, what holdfast does in this process is counted in the registry. `stop` removes the metrics again. */
export function startPrometheus(client: PromClient, options: PrometheusOptions = {}): Telemetry {
  checkClient(client);
  checkObject(options, 'the options of startPrometheus');
  checkKnown(options, OPTIONS, 'startPrometheus');
  const groups = checkGroups(options.groups);
  const registry = options.registry ?? client.register;
  checkMethods(registry, ['getSingleMetric', 'registerMetric', 'removeSingleMetric'], 'registry');
  for (const instrument of INSTRUMENTS) {
    const name = nameOf(instrument);
    if (registry.getSingleMetric(name) === undefined) continue;
    const why = 'stop the telemetry that feeds this registry first';
    throw new LockConfigError(`expected a registry without ${name}, got one that has it; ${why}`);
  }
  const report = newReport();
  const subscriptions = new Subscriptions(report);
  const backend = new PrometheusBackend(client, registry, groups !== undefined);
  new Figures(backend, groups === undefined ? null : new Groups(groups, report), subscriptions);
  return telemetryOf(report, [() => subscriptions.stop(), () => backend.close()]);
}
