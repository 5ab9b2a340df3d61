/** holdfast without subscribers and with each kind of telemetry. */
import * as api from '@opentelemetry/api';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { AlwaysOnSampler, BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { startOpenTelemetry, startPrometheus, type Telemetry } from 'holdfast-telemetry';
import * as client from 'prom-client';
import type { Participant } from '../../participants/participant.ts';
import { participantOf } from '../../participants/participant-list.ts';

const PLAIN = 'holdfast-lock-ioredis';
const GROUPS = ['telemetry:*'];

/** The participant that all others are compared with. */
export const WITHOUT = 'without-telemetry';

/** Those with metrics and without spans. */
export const METRICS_ONLY: readonly string[] = [
  'telemetry-prometheus',
  'telemetry-prometheus-groups',
  'telemetry-otel-metrics',
];

/** What is switched on in this process while the participant is measured. */
export interface Instrumented {
  readonly participant: Participant;
  start(): Telemetry | null;
}

export function instrumentedParticipants(): readonly Instrumented[] {
  const plain = participantOf(PLAIN);
  const registry = new client.Registry();
  const meterProvider = new MeterProvider();
  const tracerProvider = new BasicTracerProvider({ sampler: new AlwaysOnSampler() });
  const of = (id: string, settings: string, start: () => Telemetry | null): Instrumented => ({
    participant: { ...plain, id, settings },
    start,
  });
  return [
    of(WITHOUT, 'no subscribers', () => null),
    of('telemetry-prometheus', 'Prometheus', () => startPrometheus(client, { registry })),
    of('telemetry-prometheus-groups', 'Prometheus, groups', () =>
      startPrometheus(client, { registry, groups: GROUPS }),
    ),
    of('telemetry-otel-metrics', 'OpenTelemetry metrics', () =>
      startOpenTelemetry(api, { meterProvider, spans: false }),
    ),
    of('telemetry-otel', 'OpenTelemetry metrics and spans', () =>
      startOpenTelemetry(api, { meterProvider, tracerProvider }),
    ),
  ];
}
