/**
 * Where this session hears that a place in a line has become a hold: one channel for the session, or in a cluster one for
 * each name that it waits for. A channel is subscribed at the first wait and stays, because the next wait then joins the
 * line with its first request.
 *
 * A message names the wait that it is for. It may overtake the answer to the request that joined the line, so messages for
 * waits that nobody has registered yet are kept for a while.
 */
import { CallFailure, type StopListening } from '../../clients/client.ts';
import { detached } from '../../runtime/detached.ts';
import type { Protocol } from '../../topologies/protocol.ts';
import type { Mailbox, Topology } from '../../topologies/topology.ts';
import { readMessage, type WaitMessage, waitOf } from './ticket.ts';

/** Channels that stay subscribed: only a cluster needs more than one. */
const MAILBOXES_MAX = 1_000;

/** Messages that are kept for waits that have not registered yet. */
const UNCLAIMED_MAX = 256;

/** Hears the messages for one wait; null: messages may have been missed. */
export type Receiver = (message: WaitMessage | null) => void;

interface Registration {
  readonly channel: string;
  readonly receiver: Receiver;
}

export class Mailboxes {
  readonly #topology: Topology;
  readonly #session: string;
  readonly #timeoutMs: number;
  readonly #revoked: ((holder: string, words: string) => void) | undefined;
  readonly #open = new Map<string, StopListening>();
  readonly #opening = new Map<string, Promise<CallFailure | null>>();
  readonly #waits = new Map<number, Registration>();
  readonly #unclaimed = new Map<number, WaitMessage>();
  #resyncs = 0;

  /** `revoked` is called when a lock is said to have been taken away from that holder of the session, and why. */
  constructor(
    topology: Topology,
    session: string,
    timeoutMs: number,
    revoked?: (holder: string, words: string) => void,
  ) {
    this.#topology = topology;
    this.#session = session;
    this.#timeoutMs = timeoutMs;
    this.#revoked = revoked;
  }

  /** Null where there is no line of waiters. */
  of(protocol: Protocol): Mailbox | null {
    return protocol.policy.isWithoutLine === true ? null : this.#topology.mailboxOf(protocol, this.#session);
  }

  isOpen({ channel }: Mailbox): boolean {
    return this.#open.has(channel);
  }

  /** Subscribes. Null when the server has confirmed, otherwise why it did not. */
  open({ channel }: Mailbox): Promise<CallFailure | null> {
    if (this.#open.has(channel)) return Promise.resolve(null);
    let opening = this.#opening.get(channel);
    if (opening === undefined) {
      opening = detached(() => this.#subscribe(channel)).finally(() => this.#opening.delete(channel));
      this.#opening.set(channel, opening);
    }
    return opening;
  }

  async #subscribe(channel: string): Promise<CallFailure | null> {
    const hear = (message: string | null): void => this.#hear(channel, message);
    const stop = await this.#topology.listen(channel, hear, this.#timeoutMs);
    if (stop instanceof CallFailure) return stop;
    this.#open.set(channel, stop);
    if (this.#open.size > MAILBOXES_MAX) this.#shutUnused(channel);
    return null;
  }

  #shutUnused(opened: string): void {
    const used = new Set([...this.#waits.values()].map(({ channel }) => channel)).add(opened);
    for (const channel of this.#open.keys()) {
      if (this.#open.size <= MAILBOXES_MAX) return;
      if (!used.has(channel)) this.#shut(channel);
    }
  }

  #shut(channel: string): void {
    this.#open.get(channel)?.();
    this.#open.delete(channel);
  }

  /** How often messages may have been missed so far. */
  get resyncs(): number {
    return this.#resyncs;
  }

  /**
   * From now on that wait hears its messages, and at once what has come already. `resyncs` is how often messages may have
   * been missed before the wait asked last. @default as often as until now
   */
  register(wait: number, { channel }: Mailbox, receiver: Receiver, resyncs: number = this.#resyncs): void {
    if (this.#waits.has(wait)) return;
    this.#waits.set(wait, { channel, receiver });
    if (resyncs !== this.#resyncs) receiver(null);
    const message = this.#unclaimed.get(wait);
    if (message === undefined) return;
    this.#unclaimed.delete(wait);
    receiver(message);
  }

  unregister(wait: number): void {
    this.#waits.delete(wait);
  }

  #hear(channel: string, text: string | null): void {
    if (text === null) {
      this.#resyncs += 1;
      for (const { channel: own, receiver } of [...this.#waits.values()]) if (own === channel) receiver(null);
      return;
    }
    const message = readMessage(text);
    if (message?.is === 'revoked') this.#revoked?.(message.holder, message.words);
    if (message === null || message.is === 'revoked') return;
    const wait = waitOf(message.echo);
    const registration = this.#waits.get(wait);
    if (registration !== undefined) registration.receiver(message);
    else if (message.is === 'grant' || !this.#unclaimed.has(wait)) this.#keep(wait, message);
  }

  #keep(wait: number, message: WaitMessage): void {
    this.#unclaimed.set(wait, message);
    if (this.#unclaimed.size > UNCLAIMED_MAX) {
      this.#unclaimed.delete(this.#unclaimed.keys().next().value as number);
    }
  }
}
