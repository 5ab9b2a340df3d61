/**
 * One call of `once` as its session and those who listen see it, from its coming in until its answer. While its body may be
 * at work, `close` lets nobody else begin: it waits for the body and for the storing, and leaves the lock of a body that does
 * not end to its lease.
 */
import { LockClosedError } from '../../errors.ts';
import { leaveToLease } from '../../locking/hold-life.ts';
import type { Owner } from '../../locking/owner.ts';
import type { Session, SessionService } from '../../locking/session.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import { quote } from '../../runtime/printable.ts';
import type { OnceTrace } from '../../telemetry/channels.ts';
import { telemetry } from '../../telemetry/publish.ts';
import { endInOrder } from '../orderly-end.ts';
import type { OnceProtocol } from './protocol.ts';

export class OnceCall implements SessionService {
  readonly #session: Session;
  readonly #protocol: OnceProtocol;
  #isClosing = false;
  #owner: Owner | null = null;
  readonly #ended: Promise<void>;
  #end: () => void = () => {};
  /** Why the body was told to end, other than by a loss. */
  #told: LockClosedError | null = null;
  /** Made when first asked for: most bodies never look. */
  #controller: AbortController | null = null;

  constructor(session: Session, protocol: OnceProtocol) {
    this.#session = session;
    this.#protocol = protocol;
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** `work` is the whole call. */
  serve<T>(work: (trace: OnceTrace | null) => Promise<T>): Promise<T> {
    return telemetry.once(this.#protocol, this.#session.id, (trace) => this.#serve(() => work(trace)));
  }

  async #serve<T>(work: () => Promise<T>): Promise<T> {
    const leave = this.#session.serve(this);
    try {
      // Awaited here alone: the stack of an error leads through a promise to its caller only if nobody else waits for it.
      return await work();
    } finally {
      leave();
      this.#end();
    }
  }

  /** A run is ours. False: its body must not begin any more. */
  begin(owner: Owner): boolean {
    this.#owner = owner;
    return !this.#isClosing;
  }

  /** Aborts when the lease of the run is lost, and when the session ends. */
  get signal(): AbortSignal {
    this.#controller ??= this.#newController();
    return this.#controller.signal;
  }

  close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    return endInOrder(this.#session.timers, graceMs, {
      ended: this.#ended,
      tell: () => this.#tell(),
      leaveToLease: () => {
        if (this.#owner !== null) leaveToLease(this.#session, this.#owner.hold);
      },
    });
  }

  halt(): void {
    this.#isClosing = true;
    this.#tell();
  }

  #tell(): void {
    const { name } = this.#protocol;
    this.#told ??= new LockClosedError(`once ${quote(name)}: this Locks has been closed`, { lock: name });
    this.#controller?.abort(this.#told);
  }

  #newController(): AbortController {
    const controller = new AbortController();
    const lost = this.#owner?.signal;
    if (lost !== undefined) onAbort(lost, () => controller.abort(lost.reason));
    if (lost?.aborted === true) controller.abort(lost.reason);
    if (this.#told !== null) controller.abort(this.#told);
    return controller;
  }
}
