/** What is refused, and that nothing the telemetry is given can hurt the locks. */
import * as api from '@opentelemetry/api';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import fc from 'fast-check';
import { LockConfigError } from 'holdfast';
import * as client from 'prom-client';
import { describe, expect, test } from 'vitest';
import { useBench } from '../../holdfast/test/support/bench.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { Groups } from '../src/groups.ts';
import { startOpenTelemetry, startPrometheus } from '../src/index.ts';

const redis = useRedis();
const bench = useBench();

type Call = () => unknown;
const registry = (): client.Registry => new client.Registry();
const prom = (options: object): Call => {
  const call: Call = () => startPrometheus(client, { registry: registry(), ...options });
  return call;
};
const otel = (options: object): Call => {
  const call: Call = () => startOpenTelemetry(api, options);
  return call;
};
const wrongly = startPrometheus as (...args: unknown[]) => unknown;
const wronglyOtel = startOpenTelemetry as (...args: unknown[]) => unknown;

test.each<[string, Call, RegExp]>([
  ['no client', () => wrongly(), /first argument.* to be an object, got undefined/],
  ['another module', () => wrongly({}), /expected Counter of prom-client, got undefined/],
  ['an unknown option', prom({ group: [] }), /expected an option of startPrometheus .*got "group"/],
  ['groups of another type', prom({ groups: 'order:*' }), /array of patterns or a function, got string/],
  ['no group', prom({ groups: [] }), /1 to 100 patterns, got 0/],
  ['too many groups', prom({ groups: Array(101).fill('a') }), /1 to 100 patterns, got 101/],
  ['an empty group', prom({ groups: ['a', ''] }), /such as "order:\*", got an empty text/],
  ['a registry of another kind', prom({ registry: {} }), /expected registry to have a method/],
  ['no API', () => wronglyOtel(), /first argument.* to be an object, got undefined/],
  [
    'another API',
    () => wronglyOtel({ context: {} }),
    /context of @opentelemetry\/api to have a method active/,
  ],
  ['nothing to do', otel({ spans: false, metrics: false }), /spans or metrics to be on, got both off/],
  ['a flag of another type', otel({ lockNames: 1 }), /lockNames to be a boolean, got number/],
  ['a provider of another kind', otel({ meterProvider: {} }), /meterProvider to have a method getMeter/],
])('%s is refused', (_, call, message) => {
  expect(call).toThrow(LockConfigError);
  expect(call).toThrow(message);
});

describe('a second telemetry', () => {
  test('is refused on the same registry, allowed on another, and allowed after a stop', () => {
    const [one, two] = [registry(), registry()];
    const first = startPrometheus(client, { registry: one });
    expect(() => startPrometheus(client, { registry: one })).toThrow(/expected a registry without holdfast_/);
    startPrometheus(client, { registry: two })[Symbol.dispose]();
    first.stop();
    startPrometheus(client, { registry: one }).stop();
  });

  test('is refused on the same providers, and allowed after a stop', () => {
    const tracerProvider = new BasicTracerProvider();
    const options = { tracerProvider, metrics: false };
    const first = startOpenTelemetry(api, options);
    expect(() => startOpenTelemetry(api, options)).toThrow(/one telemetry for each provider of tracers/);
    first.stop();
    startOpenTelemetry(api, options).stop();
    const meters = startOpenTelemetry(api, { spans: false });
    expect(() => startOpenTelemetry(api, { tracerProvider })).toThrow(/each provider of meters/);
    // What was claimed before the refusal is free again.
    startOpenTelemetry(api, options).stop();
    meters.stop();
  });
});

describe('groups', () => {
  const none = (): void => {};

  test('fit as the star says, whatever stands between', () => {
    const part = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 6 });
    fc.assert(
      fc.property(
        part,
        fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 8 }),
        (pattern, name) => {
          fc.pre(pattern !== '');
          const expression = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`);
          const { group } = new Groups([pattern], none).of(name, 'lock');
          expect(group).toBe(expression.test(name) ? pattern : '_other_');
        },
      ),
    );
  });

  test('cost one pass over a name that somebody has made up to fit almost', () => {
    const groups = new Groups(['*:*:*:*:x'], none);
    const before = process.cpuUsage();
    expect(groups.of(':'.repeat(800), 'lock').group).toBe('_other_');
    // A regular expression takes half a minute, in which no lease of the process is renewed.
    expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
  });

  test('are the first pattern that matches; everything but * stands for itself', () => {
    const groups = new Groups(['order:*:line', 'order:*', 'a.c', '*'], none);
    const of = (name: string): string => groups.of(name, 'lock').group;
    expect(['order:1:line', 'order:1', 'a.c', 'abc', 'order:\n1'].map(of)).toEqual([
      'order:*:line',
      'order:*',
      'a.c',
      '*',
      'order:*',
    ]);
    expect(new Groups(['a'], none).of('b', 'lock').group).toBe('_other_');
  });

  test('by a function get the kind too; what it throws or returns wrongly is reported once', () => {
    const said: string[] = [];
    const about = new Set<string>();
    const choose = (name: string, kind: string): string | undefined => {
      if (name === 'throws') throw new Error('of the function');
      return name === 'wrong' ? (7 as unknown as string) : name === 'none' ? undefined : `${kind} ${name}`;
    };
    const groups = new Groups(choose, (subject, message) => {
      if (!about.has(subject)) said.push(message);
      about.add(subject);
    });
    const of = (name: string): string => groups.of(name, 'mutex').group;
    expect(['a', 'none', 'throws', 'wrong'].map(of)).toEqual(['mutex a', '_other_', '_other_', '_other_']);
    expect(said).toEqual(['groups threw Error: of the function']);
  });
});

test('exporters and functions that throw hurt nobody', async () => {
  const faultOf = (what: string) => (): never => {
    throw new Error(what);
  };
  const [fault, faultOfSpan] = [faultOf('of the metric'), faultOf('of the span')];
  const span = new Proxy({}, { get: () => faultOfSpan });
  const hostile = { getTracer: () => ({ startSpan: () => span, startActiveSpan: faultOfSpan }) };
  const warnings: string[] = [];
  const hear = ({ message, name }: Error): void => {
    if (name === 'HoldfastWarning') warnings.push(message);
  };
  process.on('warning', hear);
  bench.onEnd(() => process.off('warning', hear));
  const failing = { ...client, Counter: class extends client.Counter<string> {} };
  let isBroken = false;
  failing.Counter.prototype.labels = () => ({ inc: () => isBroken && fault() });
  const telemetries = [
    startOpenTelemetry(api, { tracerProvider: hostile as unknown as api.TracerProvider, metrics: false }),
    startPrometheus(failing, { registry: registry(), groups: fault }),
  ];
  isBroken = true;
  const locks = await bench.session(redis.port);
  for (let i = 0; i < 3; i += 1) expect(await locks.lock('a').using(async () => 'done')).toBe('done');
  const lease = await locks.mutex('b').acquire();
  expect(lease.isHeld).toBe(true);
  const waiting = locks
    .mutex('b')
    .acquire({ waitMs: 60_000 })
    .catch(() => {});
  for (const telemetry of telemetries) telemetry.stop();
  await lease.release();
  await waiting;
  await waitFor(() => warnings.some((text) => text.includes('at the end')), {
    what: 'the warning at the end',
  });
  // Once for each subject, however often it happens.
  expect(new Set(warnings).size).toBe(warnings.length);
});
