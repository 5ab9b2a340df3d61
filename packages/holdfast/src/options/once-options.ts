/** What callers may choose for one call of `once`. Options are checked here once; the code behind trusts the types. */
import { LockConfigError } from '../errors.ts';
import { describe } from '../runtime/describe.ts';
import { type ResolvedAcquireOptions, resolveAcquireOptions } from './acquire-options.ts';
import { checkKnown, checkObject, integerWithin, oneOf } from './checks.ts';
import { LEASE_MS_MAX, type ResolvedLocksOptions } from './options.ts';

/** A day: a client that repeats a request does so within it. */
const KEEP_MS_DEFAULT = 86_400_000;

/** Below a second a caller that was refused, or whose answer was lost, could come back after the result is gone. */
const KEEP_MS_MIN = 1_000;

/** A minute: long enough to stop a storm of retries, short enough not to replay a failure that has passed. */
const KEEP_FAILURE_MS_DEFAULT = 60_000;

const ATTEMPTS_DEFAULT = 3;
const ATTEMPTS_MAX = 1_000_000;

/** A result is an answer to a request, and not a document: larger things are stored elsewhere, and the result names them. */
const MAX_BYTES_DEFAULT = 65_536;

/** Redis holds everybody up while it copies a value, and limits a value to 512 MB in any case. */
const MAX_BYTES_MAX = 16_777_216;

/** A digest fits, in any notation. */
const FINGERPRINT_BYTES_MAX = 128;

/** How a result is written and read. */
export interface OnceCodec<T> {
  encode(value: T): string | Uint8Array;
  decode(bytes: Uint8Array): T;
}

export interface OnceOptions<T> {
  /** How long the result is kept, from when it is stored. @default 86_400_000, a day */
  readonly keepMs?: number;
  /** How long a failure is kept, once no attempt is left. @default 60_000 */
  readonly keepFailureMs?: number;
  /**
   * What a thrown error means. `retry`: the next caller runs the body again, while attempts are left. `rethrow`: the
   * failure is kept, and every caller gets it. @default 'retry'
   */
  readonly onError?: 'retry' | 'rethrow';
  /** How many runs may start. Runs that threw and runs whose process died both count. @default 3 */
  readonly attempts?: number;
  /** A fingerprint of the request, such as a digest: the same key with another fingerprint is an error. At most 128 bytes. */
  readonly fingerprint?: string;
  /** The largest result that is stored, in bytes. @default 65_536 */
  readonly maxBytes?: number;
  /** How the result is written and read. @default JSON */
  readonly codec?: OnceCodec<T>;
  /** How long to wait while another caller runs the body. 0 asks once. @default Infinity */
  readonly waitMs?: number;
  /** How long a dead run keeps the next one waiting. Renewed while the body runs. @default the `leaseMs` of `Locks` */
  readonly leaseMs?: number;
  /** Ends the wait when it aborts. It does not end a run that has begun. */
  readonly signal?: AbortSignal;
}

export interface ResolvedOnceOptions<T> {
  readonly keepMs: number;
  readonly keepFailureMs: number;
  readonly onError: 'retry' | 'rethrow';
  readonly attempts: number;
  /** Empty for none. */
  readonly fingerprint: string;
  readonly maxBytes: number;
  readonly codec: OnceCodec<T> | undefined;
  readonly acquire: ResolvedAcquireOptions;
}

const ONCE_OPTIONS = new Set([
  'keepMs',
  'keepFailureMs',
  'onError',
  'attempts',
  'fingerprint',
  'maxBytes',
  'codec',
  'waitMs',
  'leaseMs',
  'signal',
]);

export function resolveOnceOptions<T>(
  options: OnceOptions<T>,
  defaults: ResolvedLocksOptions,
): ResolvedOnceOptions<T> {
  checkObject(options, 'the options of once');
  checkKnown(options, ONCE_OPTIONS, 'an option of once');
  const { waitMs, leaseMs, signal } = options;
  return {
    keepMs: integerWithin(options.keepMs ?? KEEP_MS_DEFAULT, 'keepMs', KEEP_MS_MIN, LEASE_MS_MAX),
    keepFailureMs: integerWithin(
      options.keepFailureMs ?? KEEP_FAILURE_MS_DEFAULT,
      'keepFailureMs',
      1,
      LEASE_MS_MAX,
    ),
    onError: oneOf(options.onError ?? 'retry', 'onError', ['retry', 'rethrow']),
    attempts: integerWithin(options.attempts ?? ATTEMPTS_DEFAULT, 'attempts', 1, ATTEMPTS_MAX),
    fingerprint: options.fingerprint === undefined ? '' : checkFingerprint(options.fingerprint),
    maxBytes: integerWithin(options.maxBytes ?? MAX_BYTES_DEFAULT, 'maxBytes', 1, MAX_BYTES_MAX),
    codec: options.codec === undefined ? undefined : checkCodec(options.codec),
    acquire: resolveAcquireOptions(
      {
        lingerMs: 0,
        ...(waitMs === undefined ? {} : { waitMs }),
        ...(leaseMs === undefined ? {} : { leaseMs }),
        ...(signal === undefined ? {} : { signal }),
      },
      defaults,
      false,
    ),
  };
}

function checkFingerprint(value: unknown): string {
  const expected = `expected fingerprint to be a non-empty string of at most ${FINGERPRINT_BYTES_MAX} bytes of UTF-8`;
  if (typeof value !== 'string' || value === '' || !value.isWellFormed()) {
    throw new LockConfigError(`${expected}, got ${describe(value)}`);
  }
  const bytes = Buffer.byteLength(value);
  if (bytes > FINGERPRINT_BYTES_MAX) throw new LockConfigError(`${expected}, got ${bytes} bytes`);
  return value;
}

function checkCodec<T>(codec: OnceCodec<T>): OnceCodec<T> {
  checkObject(codec, 'codec');
  for (const verb of ['encode', 'decode'] as const) {
    if (typeof codec[verb] === 'function') continue;
    throw new LockConfigError(`expected codec.${verb} to be a function, got ${describe(codec[verb])}`);
  }
  return codec;
}
