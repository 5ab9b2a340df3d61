/**
 * The sharded channels that a client of ioredis is subscribed to.
 *
 * ioredis 6 emits `moved` when the server drops a sharded subscription, but does not say which: those that are gone from
 * its own list. ioredis 5 takes the server's message for an answer to nothing, which ends the connection.
 */
/** What is used of a client here. */
interface ShardSubscriber {
  readonly condition?: {
    readonly subscriber?: false | { channels(verb: 'ssubscribe'): readonly string[] };
  } | null;
  on(event: 'moved', listener: () => void): unknown;
  ssubscribe(channel: string): Promise<unknown>;
  sunsubscribe(channel: string): Promise<unknown>;
}

export class ShardChannels {
  readonly #client: ShardSubscriber;
  readonly #dropped: (channel: string) => void;
  readonly #channels = new Set<string>();
  #moves = 0;

  constructor(client: ShardSubscriber, dropped: (channel: string) => void) {
    this.#client = client;
    this.#dropped = dropped;
    client.on('moved', () => {
      this.#moves += 1;
      this.#reportDropped();
    });
  }

  async subscribe(channel: string): Promise<void> {
    const moves = this.#moves;
    await this.#client.ssubscribe(channel);
    this.#channels.add(channel);
    // A channel that was dropped in the packet that confirmed it has moved before it could be noted here. It cannot be
    // noted earlier: until it is confirmed it is not on the client's list either, and would pass for one that has moved.
    if (moves !== this.#moves) this.#reportDropped();
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#channels.delete(channel);
    await this.#client.sunsubscribe(channel);
  }

  #reportDropped(): void {
    const subscriber = this.#client.condition?.subscriber;
    const left = new Set(subscriber ? subscriber.channels('ssubscribe') : []);
    for (const channel of [...this.#channels]) {
      if (left.has(channel)) continue;
      this.#channels.delete(channel);
      this.#dropped(channel);
    }
  }
}
