/**
 * Distributed locks for Node.js on Redis.
 *
 * @module
 */

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
export type { Clock, Timer } from './core/clock.ts';
export type { Finding, Inspection } from './core/inspection.ts';
export type { FencedLease, Lease } from './core/lease.ts';
export type { AcquireOptions, LocksOptions, TryAcquireOptions } from './core/options.ts';
export type { Random } from './core/random.ts';
export type { ReplicaOptions } from './core/replicas.ts';
export type { WakeReason } from './core/wakeup.ts';
export type {
  Holder,
  LockErrorCode,
  LockErrorDetails,
  LossReason,
  ServerFailure,
} from './errors.ts';
export {
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
export type { CloseOptions, ForceReleaseOptions, ListOptions } from './locks.ts';
export { Locks } from './locks.ts';
export type { Lock } from './primitives/lock.ts';
export type { Mutex } from './primitives/mutex.ts';
export type {
  AbandonedMessage,
  LateReleaseMessage,
  LockTrace,
  LostMessage,
  RenewTrace,
  WokenMessage,
} from './telemetry/channels.ts';
export { CHANNELS } from './telemetry/channels.ts';
export type { Kind } from './topologies/topology.ts';
