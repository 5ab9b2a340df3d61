/**
 * `once`: one stored result for all callers of a key, in all processes. A lock lets one caller at a time run the body; a
 * record beside it has the attempts and the result, and decides who may store. See docs/guide/once.md.
 *
 * In this folder: the calls of a once key, its protocol, one caller's run, and how a result is written and stored.
 * Only `locks.ts` and `index.ts` import from here.
 */
import { AdminServers } from '../../admin/index.ts';
import {
  OnceFailedError,
  type OnceFailure,
  OnceMismatchError,
  type OriginalError,
} from '../../errors/once-errors.ts';
import { LockConfigError, LockConflictError } from '../../errors.ts';
import { onceLockKey, onceRecordKey } from '../../keys/derived.ts';
import { ownerInScope } from '../../locking/scope.ts';
import type { Session } from '../../locking/session.ts';
import {
  type OnceOptions,
  type ResolvedOnceOptions,
  resolveOnceOptions,
} from '../../options/once-options.ts';
import { describe } from '../../runtime/describe.ts';
import { printable, quote } from '../../runtime/printable.ts';
import { onceForget, oncePeek } from '../../scripts/generated.ts';
import type { OnceTrace } from '../../telemetry/channels.ts';
import { OnceCall } from './call.ts';
import { decodeFailure, decodeResult } from './payload.ts';
import { OnceProtocol, type OnceSettled } from './protocol.ts';
import { enter, type OnceRun, runBody } from './run.ts';

/** How far a key is. */
export interface OnceState {
  /**
   * - `running`: a caller runs the body now.
   * - `idle`: nobody runs it. A run threw, or ended without a word. The next caller starts another attempt.
   * - `done`: a result is stored.
   * - `failed`: a failure is stored.
   */
  readonly state: 'running' | 'idle' | 'done' | 'failed';
  /** How many runs have started. */
  readonly attempt: number;
  /** The fence of the last run. */
  readonly fence: number;
  /** Who runs the body: `<session>:<hold number>`. Only while `running`. */
  readonly owner?: string;
  /** Only when `failed`. */
  readonly reason?: OnceFailure;
  /** What the last run threw, or why its result could not be stored. */
  readonly original?: OriginalError;
  /** How long until Redis forgets the key; -1: never, because somebody took its expiry away. */
  readonly ttlMs: number;
}

export interface Once {
  /**
   * Resolves to the result of the key: the stored one, or that of the body, which is run and its result stored. While
   * another caller runs the body, in this process or elsewhere, waits for its result. Every caller gets a decoded copy.
   */
  <T>(key: string, body: (run: OnceRun) => Promise<T> | T, options?: OnceOptions<T>): Promise<T>;
  /** How far the key is; `null` when nothing is known of it. */
  peek(key: string): Promise<OnceState | null>;
  /** Forgets the result or the failure of the key. False: nothing was known of it, or somebody runs it now. */
  forget(key: string): Promise<boolean>;
}

/** `keyOf` checks a name and puts the prefix before it. */
export function onceOf(session: Session, keyOf: (name: string) => string): Once {
  const calls = new OnceCalls(session, keyOf);
  const once: Once = (key, body, options) => calls.run(key, body, options);
  once.peek = (key) => calls.peek(key);
  once.forget = (key) => calls.forget(key);
  return once;
}

class OnceCalls {
  readonly #session: Session;
  readonly #servers: AdminServers;
  readonly #keyOf: (name: string) => string;

  constructor(session: Session, keyOf: (name: string) => string) {
    this.#session = session;
    this.#keyOf = keyOf;
    this.#servers = new AdminServers(session.topology, session.options.callTimeoutMs, '');
  }

  async run<T>(
    name: string,
    body: (run: OnceRun) => Promise<T> | T,
    options: OnceOptions<T> = {},
  ): Promise<T> {
    const key = this.#checkedKey(name);
    if (typeof body !== 'function') {
      throw new LockConfigError(`expected the body of once to be a function, got ${describe(body)}`);
    }
    const resolved = resolveOnceOptions(options, this.#session.options);
    const { signal } = resolved.acquire;
    if (signal?.aborted) throw signal.reason;
    const protocol = new OnceProtocol(name, key, this.#session.options.fenceTtlMs, resolved);
    if (ownerInScope(this.#session, protocol) !== null) {
      const message = `once ${quote(name)}: called inside its own body, where it would wait for itself`;
      throw new LockConfigError(message, { lock: name });
    }
    const call = new OnceCall(this.#session, protocol);
    return call.serve((trace) => this.#run(protocol, body, resolved, call, trace));
  }

  async #run<T>(
    protocol: OnceProtocol,
    body: (run: OnceRun) => Promise<T> | T,
    options: ResolvedOnceOptions<T>,
    call: OnceCall,
    trace: OnceTrace | null,
  ): Promise<T> {
    const entered = await enter(this.#session, protocol, options.acquire, call);
    if (trace !== null) trace.ran = entered.is === 'started';
    if (trace !== null) trace.attempt = entered.is === 'started' ? entered.attempt : entered.answer.attempt;
    if (entered.is === 'settled') return settledResult(protocol.name, entered.answer, options);
    if (trace !== null) trace.fence = entered.fence;
    return runBody(this.#session, protocol, entered, body, options, call);
  }

  async peek(name: string): Promise<OnceState | null> {
    const key = this.#checkedKey(name);
    const call = oncePeek.call({ lock: onceLockKey(key), record: onceRecordKey(key) });
    const [answer] = await this.#servers.ask(this.#servers.deciding, () => call, oncePeek.decode, name);
    const found = answer?.value;
    if (found === undefined || found.is === 'ABSENT') return null;
    if (found.is === 'CONFLICT') throw conflict(name, found.found);
    const { state, owner, attempt, fence, reason, payload, ttlMs } = found;
    const original = decodeFailure(payload);
    return {
      // The script has compared it with the four.
      state: state as OnceState['state'],
      attempt,
      fence,
      ...(state === 'running' ? { owner } : {}),
      ...(state === 'failed' ? { reason: reason as OnceFailure } : {}),
      ...(original === undefined ? {} : { original }),
      ttlMs,
    };
  }

  async forget(name: string): Promise<boolean> {
    const key = this.#checkedKey(name);
    const call = onceForget.call({ lock: onceLockKey(key), record: onceRecordKey(key) });
    const [answer] = await this.#servers.ask(this.#servers.deciding, () => call, onceForget.decode, name);
    if (answer?.value.is === 'CONFLICT') throw conflict(name, answer.value.found);
    return answer?.value.is === 'FORGOTTEN';
  }

  #checkedKey(name: string): string {
    this.#session.assertOpen(name);
    const key = this.#keyOf(name);
    if (this.#session.topology.hasLine) return key;
    const message =
      'expected one server, Sentinel or a cluster for once, got several independent servers: a run that failed on a majority may leave its record on a minority, which would later hide that the work was never done';
    throw new LockConfigError(message, { lock: name });
  }
}

function conflict(name: string, found: string): LockConflictError {
  const message = `once ${quote(name)}: the key holds something else (expected a record of once, got ${printable(found)}); it was left untouched`;
  return new LockConflictError(message, { lock: name });
}

function settledResult<T>(name: string, answer: OnceSettled, { codec }: ResolvedOnceOptions<T>): T {
  if (answer.is === 'DONE') return decodeResult(name, answer.payload, codec);
  if (answer.is === 'MISMATCH') {
    const message = `once ${quote(name)}: the key is used by a request with another fingerprint`;
    throw new OnceMismatchError(message, { lock: name });
  }
  const { attempt } = answer;
  const reason = answer.reason as OnceFailure;
  const original = decodeFailure(answer.payload);
  const why = {
    failed: 'the body threw',
    abandoned: 'every attempt ended without a word',
    unstorable: 'the body ran, and its result could not be stored',
  }[reason];
  const said = original === undefined ? '' : ` (${printable(`${original.name}: ${original.message}`)})`;
  const message = `once ${quote(name)}: failed at attempt ${attempt}: ${why}${said}`;
  throw new OnceFailedError(message, { lock: name, reason, attempt, original });
}
