/**
 * The channels of a shard, heard by a client of ioredis.
 *
 * Version 6 says that some channel has moved, but not which: those that it has struck off its list by itself.
 * Version 5 takes the server's word for an answer to nothing, which ends the connection.
 */
import type { Ioredis } from './ioredis.ts';

export class IoredisShards {
  readonly #client: Ioredis;
  readonly #dropped: (channel: string) => void;
  readonly #channels = new Set<string>();
  #moves = 0;

  constructor(client: Ioredis, dropped: (channel: string) => void) {
    this.#client = client;
    this.#dropped = dropped;
    client.on('moved', () => {
      this.#moves += 1;
      this.#tellDropped();
    });
  }

  async subscribe(channel: string): Promise<void> {
    const moves = this.#moves;
    await this.#client.ssubscribe(channel);
    this.#channels.add(channel);
    // One that was taken back in the same breath as it was confirmed has moved before it could be noted. Not noted
    // earlier: until it is confirmed it is not on the client's list either, and would pass for one that has moved.
    if (moves !== this.#moves) this.#tellDropped();
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#channels.delete(channel);
    await this.#client.sunsubscribe(channel);
  }

  #tellDropped(): void {
    const subscriber = this.#client.condition?.subscriber;
    const left = new Set(subscriber ? subscriber.channels('ssubscribe') : []);
    for (const channel of [...this.#channels]) {
      if (left.has(channel)) continue;
      this.#channels.delete(channel);
      this.#dropped(channel);
    }
  }
}
