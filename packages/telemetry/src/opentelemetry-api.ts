/** What is used of the API of OpenTelemetry, and the names of attributes. */
import type { ContextAPI, MetricsAPI, SpanStatusCode, TraceAPI } from '@opentelemetry/api';
import type { Label } from './instruments.ts';

/** `@opentelemetry/api`, as far as it is used here: `import * as api from '@opentelemetry/api'`. */
export interface OpenTelemetryApi {
  readonly context: Pick<ContextAPI, 'active' | 'with'>;
  readonly trace: Pick<TraceAPI, 'getTracerProvider' | 'setSpan'>;
  readonly metrics: Pick<MetricsAPI, 'getMeterProvider'>;
  readonly SpanStatusCode: Pick<typeof SpanStatusCode, 'ERROR'>;
}

export const ATTRIBUTES: Readonly<Record<Label, string>> = {
  kind: 'holdfast.lock.kind',
  group: 'holdfast.lock.group',
  outcome: 'holdfast.lock.outcome',
  via: 'holdfast.lock.via',
  end: 'holdfast.lock.end',
  scope: 'holdfast.lock.scope',
  reason: 'holdfast.lock.reason',
  event: 'holdfast.lock.event',
  error_type: 'error.type',
};

/** On spans only, and only if the caller wants it. */
export const LOCK_NAME = 'holdfast.lock.name';
