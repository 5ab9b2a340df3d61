/**
 * A live page, metrics and alerts for holdfast locks and the Redis servers behind them.
 *
 * @module
 */
export type {
  AlertEngine,
  AlertOrder,
  AlertSource,
  AlertSurroundings,
  Metric,
  StateRedis,
} from './alert-source.ts';
export type { AlertSettings, CreateAlertsOptions } from './alerts/index.ts';
export {
  ConfigError,
  createAlerts,
  defaultSettings,
  loadConfig,
  prometheusRules,
  SettingsHolder,
} from './alerts/index.ts';
export type {
  AlertView,
  AuditEntry,
  AuditPage,
  End,
  HoldView,
  LockDetail,
  Row,
  ServerCard,
  State,
  TopologyView,
} from './api/types.ts';
export type { AuditedAction, AuditRedis } from './audit/audit-trail.ts';
export { AuditTrail } from './audit/audit-trail.ts';
export type { EndedHold, Figures, FiguresSource } from './figures.ts';
export type { Authorize, Permission } from './http/auth.ts';
export type { Monitor, Origin } from './monitor.ts';
export { createMonitor } from './monitor.ts';
export type { ListenerOptions } from './node-listener.ts';
export { createMonitorServer, nodeListener } from './node-listener.ts';
export type { MonitorOptions } from './options.ts';
export type { MonitorRedis } from './sampling/servers/clients.ts';
