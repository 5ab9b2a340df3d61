/** What is used of the API of OpenTelemetry. */
import type { ContextAPI, MetricsAPI, SpanStatusCode, TraceAPI } from '@opentelemetry/api';

/** `@opentelemetry/api`, as far as it is used here: `import * as api from '@opentelemetry/api'`. */
export interface OpenTelemetryApi {
  readonly context: Pick<ContextAPI, 'active' | 'with'>;
  readonly trace: Pick<TraceAPI, 'getTracerProvider' | 'setSpan'>;
  readonly metrics: Pick<MetricsAPI, 'getMeterProvider'>;
  readonly SpanStatusCode: Pick<typeof SpanStatusCode, 'ERROR'>;
}
