/**
 * One channel and those who listen to it.
 *
 * ## absent
 * The server does not send it to us. When somebody listens and the connection is up: subscribing.
 *
 * ## subscribing
 * Asked for, not confirmed. Confirmed: present. Refused, or the connection is lost: absent. Confirmed and taken back
 * in the same breath: absent, and asked for once more.
 *
 * ## present
 * Confirmed. Nobody listens any more: unsubscribing. The connection is lost: absent, and messages may be missed.
 *
 * ## unsubscribing
 * Asked to stop. Confirmed, refused or lost: absent. Whoever joins meanwhile waits for that and is subscribed anew.
 *
 * At most one request is under way for a channel, so its answers cannot cross.
 */
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import type { CallFailure, StopListening, Wake } from '../client.ts';

export type ChannelState = 'absent' | 'subscribing' | 'present' | 'unsubscribing';

export type ListenResult = StopListening | CallFailure;

/** One `listen`. Until `confirm` is null its caller waits for the server. */
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
  /** The server has taken it back before its confirmation was heard here. */
  isTakenBack = false;
  #hasMissed = false;
  #isDeaf = false;

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

  /** False when it had been removed. */
  remove(listener: Listener): boolean {
    this.#timers.cancel(listener.deadline);
    return this.#listeners.delete(listener);
  }

  /** The server sends us this channel from now on. */
  confirm(stopOf: (listener: Listener) => StopListening): void {
    this.state = 'present';
    const hasMissed = this.#hasMissed;
    this.#hasMissed = false;
    this.#isDeaf = false;
    for (const listener of [...this.#listeners]) {
      if (listener.confirm !== null) this.#settle(listener, stopOf(listener));
      else if (hasMissed) this.#wake(listener, null);
    }
  }

  /** The connection is gone: whoever was confirmed keeps waiting for the next one. */
  lose(): void {
    if (this.state === 'present') this.#hasMissed = true;
    this.state = 'absent';
  }

  /** It is not restored: whoever was confirmed has missed messages, and will miss more. Said once, until it is. */
  deafen(): void {
    if (this.#isDeaf) return;
    this.#isDeaf = true;
    for (const listener of [...this.#listeners]) this.#wake(listener, null);
  }

  /** Ends those who still wait for the server, and gives their number. */
  failPending(failure: CallFailure): number {
    const pending = [...this.#listeners].filter((listener) => listener.confirm !== null);
    for (const listener of pending) {
      this.#listeners.delete(listener);
      this.#settle(listener, failure);
    }
    return pending.length;
  }

  /** To all, also to those whose confirmation is only a microtask away: it came before this message. */
  deliver(text: string): void {
    for (const listener of [...this.#listeners]) this.#wake(listener, text);
  }

  /** Everybody is gone, without a word to those who were confirmed. */
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
    // One that was stopped by another's wake-up, a moment ago, hears nothing more.
    if (!this.#listeners.has(listener)) return;
    try {
      listener.wake(message);
    } catch {
      // A wake-up is a hint. Whoever fails to take it has its own timer, and must not rob the next of theirs.
    }
  }
}
