/**
 * One channel and its listeners.
 *
 * ## absent
 * The server does not send the channel to us. When somebody listens and the connection is up: subscribing.
 *
 * ## subscribing
 * SUBSCRIBE is sent, not confirmed. Confirmed: present. Refused, or the connection is lost: absent. Confirmed and
 * dropped by the server in the same packet: absent, and subscribed once more.
 *
 * ## present
 * Confirmed. Nobody listens any more: unsubscribing. The connection is lost: absent, and messages may be missed.
 *
 * ## unsubscribing
 * UNSUBSCRIBE is sent. Confirmed, refused or lost: absent. Whoever joins meanwhile waits for that and is subscribed anew.
 *
 * At most one request is in flight for a channel, so its answers cannot cross.
 */
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import type { CallFailure, StopListening, Wake } from '../client.ts';

export type ChannelState = 'absent' | 'subscribing' | 'present' | 'unsubscribing';

export type ListenResult = StopListening | CallFailure;

/** One call of `listen`. Until `confirm` is null its caller waits for the server. */
export interface Listener {
  readonly wake: Wake;
  readonly deadline: Deadline;
  confirm: ((result: ListenResult) => void) | null;
}

export class Channel {
  readonly name: string;
  readonly #timers: TimerQueue;
  readonly #listeners = new Set<Listener>();
  state: ChannelState = 'absent';
  /** The server has dropped the subscription before its confirmation was read here. */
  isDropped = false;
  #hasMissed = false;
  /** Confirmed listeners were told that the subscription is not restored. */
  #isLossTold = false;

  constructor(name: string, timers: TimerQueue) {
    this.name = name;
    this.#timers = timers;
  }

  get isWanted(): boolean {
    return this.#listeners.size > 0;
  }

  add(wake: Wake, confirm: (result: ListenResult) => void, expire: (listener: Listener) => void): Listener {
    const deadline = new Deadline(() => expire(listener), true);
    const listener: Listener = { wake, deadline, confirm };
    this.#listeners.add(listener);
    return listener;
  }

  /** False when the listener had been removed before. */
  remove(listener: Listener): boolean {
    this.#timers.cancel(listener.deadline);
    return this.#listeners.delete(listener);
  }

  /** The server sends us this channel from now on. */
  confirm(stopOf: (listener: Listener) => StopListening): void {
    this.state = 'present';
    const hasMissed = this.#hasMissed;
    this.#hasMissed = false;
    this.#isLossTold = false;
    for (const listener of [...this.#listeners]) {
      if (listener.confirm !== null) this.#settle(listener, stopOf(listener));
      else if (hasMissed) this.#wake(listener, null);
    }
  }

  /** The connection is gone: confirmed listeners stay for the next one. */
  lose(): void {
    if (this.state === 'present') this.#hasMissed = true;
    this.state = 'absent';
  }

  /** The subscription is not restored: confirmed listeners miss messages. They are told once, until it is restored. */
  tellLoss(): void {
    if (this.#isLossTold) return;
    this.#isLossTold = true;
    for (const listener of [...this.#listeners]) this.#wake(listener, null);
  }

  /** Ends the listeners that still wait for the server, and gives their number. */
  failPending(failure: CallFailure): number {
    const pending = [...this.#listeners].filter((listener) => listener.confirm !== null);
    for (const listener of pending) {
      this.#listeners.delete(listener);
      this.#settle(listener, failure);
    }
    return pending.length;
  }

  /** Wakes all listeners, also those whose confirmation is only a microtask away: it came before this message. */
  deliver(text: string): void {
    for (const listener of [...this.#listeners]) this.#wake(listener, text);
  }

  /** Removes all listeners; confirmed ones are not told. */
  clear(): void {
    for (const listener of this.#listeners) this.#timers.cancel(listener.deadline);
    this.#listeners.clear();
  }

  #settle(listener: Listener, result: ListenResult): void {
    const { confirm } = listener;
    listener.confirm = null;
    this.#timers.cancel(listener.deadline);
    confirm?.(result);
  }

  #wake(listener: Listener, message: string | null): void {
    // A listener that was stopped by another's wake-up, a moment ago, hears nothing more.
    if (!this.#listeners.has(listener)) return;
    try {
      listener.wake(message);
    } catch {
      // A wake-up is a hint: a listener that throws has a timer of its own, and must not keep the hint from the next.
    }
  }
}
