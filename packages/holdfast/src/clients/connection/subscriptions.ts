/**
 * Hears channels of one mode for all listeners over one connection of our own, subscribed once a channel.
 *
 * Unlike the connection for scripts this one reconnects by itself while somebody listens, because nobody comes and asks
 * for it: a listener only waits. After a reconnection listeners are told that they may have missed messages. After the
 * last listener has gone the connection stays open: the next waiter then needs one round trip, not a handshake, and
 * there is no idle timer to get wrong.
 *
 * A listener alone does not keep the process alive: a message is only a hint, and whoever waits for one sits in a timer
 * that does. Only `listen` itself does, until it is confirmed.
 */

import { Backoff } from '../../runtime/backoff.ts';
import { inMs } from '../../runtime/printable.ts';
import type { Random } from '../../runtime/random.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import { CallFailure, type Wake } from '../client.ts';
import { refusal } from './call.ts';
import { Channel, type Listener, type ListenResult } from './channel.ts';
import type { ChannelMode, Dialler } from './raw-connection.ts';
import { type OpenConnection, ReconnectingConnection } from './reconnecting-connection.ts';
import { failureOf } from './reply-errors.ts';

/** A server that restarts is back in less than a second; twenty attempts a second cost it nothing. */
export const RECONNECT_MS_MIN = 50;

/** The longest pause between attempts: one a second and process is harmless to a server in trouble. */
export const RECONNECT_MS_MAX = 1_000;

/** A refusal may pass or may not. Asking again as often as waiters poll costs no more than they do. */
export const REFUSED_MS = 5_000;

/** For whoever knows where else a channel may be. */
export interface SubscriptionEvents {
  /** The connection was lost, or could not be made. */
  down?(): void;
  /** A channel that was confirmed on an earlier connection, and is still listened to, is refused now. */
  refused?(channel: string, failure: CallFailure): void;
}

export interface SubscriptionOptions {
  readonly timers: TimerQueue;
  readonly random: Random;
  /** @default 'plain' */
  readonly mode?: ChannelMode;
  readonly events?: SubscriptionEvents;
}

export class Subscriptions {
  readonly #timers: TimerQueue;
  readonly #mode: ChannelMode;
  readonly #events: SubscriptionEvents;
  readonly #reconnecting: ReconnectingConnection;
  readonly #channels = new Map<string, Channel>();
  readonly #reconnectDeadline = new Deadline(() => this.#reconnecting.open(), false);
  readonly #refusedDeadline = new Deadline(() => this.#reconcileAll(), false);
  readonly #backoff: Backoff;
  #open: OpenConnection | null = null;
  /** Scripts have lost their connection and have no new one yet. Who listens, or is let in meanwhile, may be at another server. */
  #isOutdated = false;
  #listenerCount = 0;
  #isClosed = false;

  constructor(dialler: Dialler, { timers, random, mode = 'plain', events = {} }: SubscriptionOptions) {
    this.#timers = timers;
    this.#mode = mode;
    this.#events = events;
    // A delay is half a step at least.
    this.#backoff = new Backoff(random, { minMs: 2 * RECONNECT_MS_MIN, maxMs: RECONNECT_MS_MAX });
    this.#reconnecting = new ReconnectingConnection(dialler, timers, {
      up: (open) => this.#up(open),
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
      else if (this.#open !== null) this.#reconcile(channel);
      else this.#reconnecting.open();
    });
  }

  /** The connection for scripts is lost. The next one may lead to another server, where nobody counts who listens here. */
  scriptsLost(): void {
    this.#isOutdated = true;
  }

  /** Scripts have a new connection. Who listens, or has begun to connect, goes where that leads: this server may be a replica now. */
  scriptsUp(): void {
    if (!this.#isOutdated) return;
    this.#isOutdated = false;
    // Idle: the next connection is dialled from now on.
    if (!this.#reconnecting.isActive) return;
    this.#reconnecting.close();
    this.#down('the connection for scripts was made anew', undefined);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#open = null;
    this.#reconnecting.close();
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
    if (this.#listenerCount === 0) this.#cancelDeadlines();
  }

  #cancelDeadlines(): void {
    this.#timers.cancel(this.#reconnectDeadline);
    this.#timers.cancel(this.#refusedDeadline);
  }

  #reconcileAll(): void {
    for (const channel of [...this.#channels.values()]) this.#reconcile(channel);
  }

  /** Does what the channel needs next, if no request is in flight for it. */
  #reconcile(channel: Channel): void {
    const open = this.#open;
    if (channel.state === 'absent' && !channel.isWanted) this.#channels.delete(channel.name);
    else if (open === null) return;
    else if (channel.state === 'absent') this.#subscribe(channel, open);
    else if (channel.state === 'present' && !channel.isWanted) this.#unsubscribe(channel, open);
  }

  #subscribe(channel: Channel, open: OpenConnection): void {
    channel.state = 'subscribing';
    channel.isDropped = false;
    this.#await(open, open.raw.subscribe(channel.name, this.#mode), (error) => {
      if (error !== null) {
        this.#refused(channel, failureOf(error, 'unreachable'));
        return;
      }
      this.#backoff.reset();
      if (channel.isDropped) channel.state = 'absent';
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
    // The channel is asked for again after a pause: at once the refusal would repeat. Confirmed listeners have their timers.
    if (!this.#refusedDeadline.isSet) this.#timers.setIn(this.#refusedDeadline, REFUSED_MS);
    this.#events.refused?.(channel.name, failure);
    // After MOVED the cluster topology subscribes at the other node, and tells the listeners of the gap then.
    if (failure.word !== 'MOVED') channel.tellLoss();
  }

  #unsubscribe(channel: Channel, open: OpenConnection): void {
    channel.state = 'unsubscribing';
    this.#await(open, open.raw.unsubscribe(channel.name, this.#mode), () => {
      channel.state = 'absent';
      this.#reconcile(channel);
    });
  }

  /** The channel is subscribed once more: if its slot is elsewhere now, the server says where. */
  #dropped(name: string): void {
    const channel = this.#channels.get(name);
    // Only a confirmed subscription can be dropped: the confirmation has come, and is a microtask away.
    if (channel?.state === 'subscribing') channel.isDropped = true;
    if (channel?.state !== 'present') return;
    channel.lose();
    this.#reconcile(channel);
  }

  /** Waits for the answer, unless the connection is lost first: `#down` has then settled everything. */
  #await(open: OpenConnection, answer: Promise<unknown>, then: (error: unknown) => void): void {
    open.stallWatch.sent(this.#timers.clock.monotonicMs());
    const finish = (error: unknown): void => {
      open.stallWatch.answered();
      if (this.#open === open) then(error);
    };
    answer.then(() => finish(null), finish);
  }

  #up(open: OpenConnection): void {
    this.#open = open;
    this.#cancelDeadlines();
    this.#reconcileAll();
  }

  #down(reason: string, cause: unknown): void {
    this.#open = null;
    this.#timers.cancel(this.#refusedDeadline);
    for (const channel of this.#channels.values()) channel.lose();
    // A subscription dies with its connection, so even one that was sent has not happened.
    this.#failPending(new CallFailure('unreachable', reason, '', cause));
    if (this.#listenerCount === 0) return;
    this.#events.down?.();
    this.#timers.setIn(this.#reconnectDeadline, this.#backoff.nextMs());
  }

  #failPending(failure: CallFailure): void {
    for (const channel of [...this.#channels.values()]) {
      this.#count(-channel.failPending(failure));
      if (!channel.isWanted && channel.state === 'absent') this.#channels.delete(channel.name);
    }
  }
}
