/**
 * Hears channels for all listeners over one connection of our own, subscribed once a channel.
 *
 * Unlike the connection for scripts this one reconnects by itself, because nobody comes and asks for it: a
 * listener only waits. It does so while somebody listens, and tells them that they may have missed messages. After
 * the last listener has gone it stays open and lets the process exit: the next waiter then needs one round trip,
 * not a handshake, and there is no idle timer to get wrong.
 */

import { inMs } from '../../runtime/printable.ts';
import type { Random } from '../../runtime/random.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import { CallFailure, type Wake } from '../client.ts';
import { refusal } from './call.ts';
import { Channel, type Listener, type ListenResult } from './channel.ts';
import type { Driver, Wire } from './raw-connection.ts';
import { Link } from './reconnecting-connection.ts';
import { reasonOf, replyFailure, replyWord } from './reply-errors.ts';
import type { Silence } from './stall-watch.ts';

/** A server that restarts is back in less than a second; asking twenty times a second costs it nothing. */
export const RECONNECT_MS_MIN = 50;

/** One attempt a second and process is harmless to a server in trouble; waiters poll every few seconds anyway. */
export const RECONNECT_MS_MAX = 1_000;

/** A refusal may pass or may not. Asking as often as waiters poll costs no more than they do. */
export const REFUSED_MS = 5_000;

/** The connection as it is while it is up. */
interface Line {
  readonly wire: Wire;
  readonly silence: Silence;
}

/** For whoever knows where else a channel may be. */
export interface SubscriptionEvents {
  /** The connection was lost, or could not be made. */
  down?(): void;
  /** A channel that was confirmed on an earlier connection, and is still listened to, is refused now. */
  refused?(channel: string, failure: CallFailure): void;
}

export class Subscriptions {
  readonly #timers: TimerQueue;
  readonly #random: Random;
  readonly #link: Link;
  readonly #events: SubscriptionEvents;
  readonly #channels = new Map<string, Channel>();
  readonly #reconnectDeadline: Deadline;
  readonly #refusedDeadline: Deadline;
  #line: Line | null = null;
  #listenerCount = 0;
  #attempts = 0;
  #isClosed = false;

  constructor(driver: Driver, timers: TimerQueue, random: Random, events: SubscriptionEvents = {}) {
    this.#events = events;
    this.#timers = timers;
    this.#random = random;
    this.#reconnectDeadline = new Deadline(() => this.#link.open(), true);
    this.#refusedDeadline = new Deadline(() => this.#reconcileAll(), true);
    this.#link = new Link(driver, timers, {
      up: (wire, silence) => this.#up({ wire, silence }),
      down: (reason, cause) => this.#down(reason, cause),
      message: (name, text) => this.#channels.get(name)?.deliver(text),
      dropped: (name) => this.#dropped(name),
    });
  }

  listen(name: string, wake: Wake, timeoutMs: number): Promise<ListenResult> {
    const refused = refusal(this.#isClosed, timeoutMs);
    if (refused !== null) return Promise.resolve(refused);
    return new Promise((resolve) => {
      const channel = this.#channelOf(name);
      const listener = channel.add(wake, resolve, (expired) => this.#expire(channel, expired, timeoutMs));
      this.#timers.setIn(listener.deadline, timeoutMs);
      this.#count(1);
      if (channel.state === 'present') this.#confirm(channel);
      else if (this.#line !== null) this.#reconcile(channel);
      else this.#link.open();
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#line = null;
    this.#link.close();
    this.#cancelDeadlines();
    this.#failPending(
      new CallFailure('closed', 'the client was closed before the subscription was confirmed'),
    );
    for (const channel of this.#channels.values()) channel.clear();
    this.#channels.clear();
  }

  #channelOf(name: string): Channel {
    let channel = this.#channels.get(name);
    if (channel === undefined) {
      channel = new Channel(name, this.#timers);
      this.#channels.set(name, channel);
    }
    return channel;
  }

  #confirm(channel: Channel): void {
    channel.confirm((listener) => () => this.#remove(channel, listener));
  }

  #remove(channel: Channel, listener: Listener): void {
    if (!channel.remove(listener)) return;
    this.#count(-1);
    this.#reconcile(channel);
  }

  #expire(channel: Channel, listener: Listener, timeoutMs: number): void {
    const { confirm } = listener;
    const isWritten = channel.state === 'subscribing';
    this.#remove(channel, listener);
    const text = `no confirmation of the subscription within ${inMs(timeoutMs)}`;
    confirm?.(new CallFailure(isWritten ? 'unknown' : 'unreachable', text));
  }

  #count(change: number): void {
    this.#listenerCount += change;
    this.#link.hold(this.#listenerCount > 0);
    if (this.#listenerCount === 0) this.#cancelDeadlines();
  }

  #cancelDeadlines(): void {
    this.#timers.cancel(this.#reconnectDeadline);
    this.#timers.cancel(this.#refusedDeadline);
  }

  #reconcileAll(): void {
    for (const channel of [...this.#channels.values()]) this.#reconcile(channel);
  }

  /** Does what the channel needs next, if nothing is under way for it. */
  #reconcile(channel: Channel): void {
    const line = this.#line;
    if (channel.state === 'absent' && !channel.isWanted) this.#channels.delete(channel.name);
    else if (line === null) return;
    else if (channel.state === 'absent') this.#subscribe(channel, line);
    else if (channel.state === 'present' && !channel.isWanted) this.#unsubscribe(channel, line);
  }

  #subscribe(channel: Channel, line: Line): void {
    channel.state = 'subscribing';
    channel.isTakenBack = false;
    this.#ask(line, line.wire.subscribe(channel.name), (error) => {
      if (error !== null) {
        this.#refused(channel, listenFailure(error));
        return;
      }
      this.#attempts = 0;
      if (channel.isTakenBack) channel.state = 'absent';
      else this.#confirm(channel);
      this.#reconcile(channel);
    });
  }

  #refused(channel: Channel, failure: CallFailure): void {
    channel.state = 'absent';
    this.#count(-channel.failPending(failure));
    if (!channel.isWanted) {
      this.#reconcile(channel);
      return;
    }
    // Not asked for again at once: the refusal would repeat. Those who were confirmed earlier have their timers.
    if (!this.#refusedDeadline.isSet) this.#timers.setIn(this.#refusedDeadline, REFUSED_MS);
    this.#events.refused?.(channel.name, failure);
    // Whoever follows it to where it went tells them once it is heard there.
    if (failure.word !== 'MOVED') channel.deafen();
  }

  #unsubscribe(channel: Channel, line: Line): void {
    channel.state = 'unsubscribing';
    this.#ask(line, line.wire.unsubscribe(channel.name), () => {
      channel.state = 'absent';
      this.#reconcile(channel);
    });
  }

  /** Asked for once more: the server says where it is, if it is not here any longer. */
  #dropped(name: string): void {
    const channel = this.#channels.get(name);
    // Only what was confirmed is taken back: the confirmation has come, and is a microtask away.
    if (channel?.state === 'subscribing') channel.isTakenBack = true;
    if (channel?.state !== 'present') return;
    channel.lose();
    this.#reconcile(channel);
  }

  /** Waits for the answer, unless the connection is lost first: `#down` has then settled everything. */
  #ask(line: Line, answer: Promise<unknown>, then: (error: unknown) => void): void {
    line.silence.sent(this.#timers.clock.monotonicMs());
    const finish = (error: unknown): void => {
      line.silence.answered();
      if (this.#line === line) then(error);
    };
    answer.then(() => finish(null), finish);
  }

  #up(line: Line): void {
    this.#line = line;
    this.#cancelDeadlines();
    this.#reconcileAll();
  }

  #down(reason: string, cause: unknown): void {
    this.#line = null;
    this.#timers.cancel(this.#refusedDeadline);
    for (const channel of this.#channels.values()) channel.lose();
    // A subscription dies with its connection, so even one that was asked for has not happened.
    this.#failPending(new CallFailure('unreachable', reason, '', cause));
    if (this.#listenerCount === 0) return;
    this.#events.down?.();
    const capMs = Math.min(RECONNECT_MS_MAX, 2 * RECONNECT_MS_MIN * 2 ** this.#attempts);
    this.#attempts += 1;
    this.#timers.setIn(this.#reconnectDeadline, (capMs / 2) * (1 + this.#random.fraction()));
  }

  #failPending(failure: CallFailure): void {
    for (const channel of [...this.#channels.values()]) {
      this.#count(-channel.failPending(failure));
      if (!channel.isWanted && channel.state === 'absent') this.#channels.delete(channel.name);
    }
  }
}

function listenFailure(error: unknown): CallFailure {
  const word = replyWord(error);
  return word === null
    ? new CallFailure('unreachable', reasonOf(error), '', error)
    : replyFailure(error, word);
}
