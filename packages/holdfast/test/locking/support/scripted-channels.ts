/** The channels of a scripted server: a message reaches all who listen at once. */
import type { Wake } from '../../../src/clients/client.ts';

export class ScriptedChannels {
  readonly #wakes = new Map<string, Set<Wake>>();

  /** Those that somebody listens to. */
  get names(): string[] {
    return [...this.#wakes.keys()];
  }

  /** Without those that sessions keep for the grants of their waits. */
  get publicNames(): string[] {
    return this.names.filter((channel) => !channel.startsWith('holdfast_session:'));
  }

  listeners(channel: string): number {
    return this.#wakes.get(channel)?.size ?? 0;
  }

  listen(channel: string, wake: Wake): () => void {
    const wakes = this.#wakes.get(channel) ?? new Set();
    this.#wakes.set(channel, wakes.add(wake));
    return () => {
      wakes.delete(wake);
      if (wakes.size === 0) this.#wakes.delete(channel);
    };
  }

  /** Returns how many heard it. */
  publish(channel: string, message: string | null = '0'): number {
    const wakes = [...(this.#wakes.get(channel) ?? [])];
    for (const wake of wakes) wake(message);
    return wakes.length;
  }
}
