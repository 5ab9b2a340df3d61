/**
 * OpenTelemetry traces and metrics, and Prometheus metrics, of holdfast locks.
 *
 * @module
 */

export type { GroupsOption } from './groups.ts';
export { GROUPS_MAX, OTHER } from './groups.ts';
export type { OpenTelemetryOptions } from './opentelemetry.ts';
export { startOpenTelemetry } from './opentelemetry.ts';
export type { OpenTelemetryApi } from './opentelemetry-api.ts';
export type { PromClient, PrometheusOptions } from './prometheus/prometheus.ts';
export { startPrometheus } from './prometheus/prometheus.ts';
export type { Telemetry } from './telemetry.ts';
