/**
 * Distributed locks for Node.js on Redis.
 *
 * @module
 */

export type {
  Finding,
  ForceReleaseOptions,
  InspectedLine,
  InspectedWaiter,
  Inspection,
  InspectOptions,
  JobsOptions,
  ListOptions,
  Role,
  SessionRecord,
} from './admin/index.ts';
export type {
  Acknowledged,
  CallFailureKind,
  Client,
  Copies,
  ReplicaTerms,
  Reply,
  Scalar,
  ScriptCall,
  ScriptText,
  StopListening,
  Wake,
} from './clients/client.ts';
export { CallFailure, CLIENT } from './clients/client.ts';
export type { RedisClient } from './clients/redis-client.ts';
export type { OnceFailure, OriginalError } from './errors/once-errors.ts';
export { OnceFailedError, OnceMismatchError, OnceResultError } from './errors/once-errors.ts';
export type {
  Holder,
  LockErrorCode,
  LockErrorDetails,
  LossReason,
  ServerFailure,
} from './errors.ts';
export {
  JobTimeoutError,
  LeaderStuckError,
  LockAbortedError,
  LockClosedError,
  LockConfigError,
  LockConflictError,
  LockError,
  LockLostError,
  LockNotHeldError,
  LockTimeoutError,
  LockUnavailableError,
  LockUnknownError,
} from './errors.ts';
export type { FencedLease, Lease } from './locking/lease.ts';
export type { CloseOptions } from './locks.ts';
export { Locks } from './locks.ts';
export type { AcquireOptions, TryAcquireOptions } from './options/acquire-options.ts';
export type { OnceCodec, OnceOptions } from './options/once-options.ts';
export type { LocksOptions } from './options/options.ts';
export type { ReplicaOptions } from './options/replicas.ts';
export type {
  Leader,
  LeaderBody,
  LeaderEvents,
  LeaderInfo,
  LeaderOptions,
  LeaderRunOptions,
  LeaderTerm,
} from './primitives/leader/index.ts';
export type { Lock } from './primitives/lock/lock.ts';
export type { Mutex } from './primitives/mutex/mutex.ts';
export type { Once, OnceState } from './primitives/once/once.ts';
export type { OnceRun } from './primitives/once/run.ts';
export type {
  JobBody,
  JobInfo,
  JobResult,
  JobRun,
  JobRunContext,
  JobState,
  Schedule,
  ScheduleEvents,
  ScheduleOptions,
  SingleRun,
  SingleRunOptions,
  SkipReason,
  SlotOptions,
  StopOptions,
} from './primitives/schedule/index.ts';
export type { Clock, Timer } from './runtime/clock.ts';
export { printable, printableJson, quote } from './runtime/printable.ts';
export type { Random } from './runtime/random.ts';
export type {
  AbandonedMessage,
  AcquiredVia,
  EndedMessage,
  HandedOverMessage,
  Kind,
  LateReleaseMessage,
  LeaseEnd,
  LockTrace,
  LostMessage,
  NodeHealthMessage,
  OnceTrace,
  RenewTrace,
  UsingTrace,
  WakeReason,
  WokenMessage,
} from './telemetry/channels.ts';
export { CHANNELS } from './telemetry/channels.ts';
export type {
  JobSkippedMessage,
  JobTrace,
  LeaderEvent,
  LeaderMessage,
} from './telemetry/jobs.ts';
