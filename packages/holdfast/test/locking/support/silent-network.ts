/**
 * Our own connections, over a network in which one that is up can go silent: nothing arrives on it any more in either
 * direction and nobody says so, while a new one works. The server is an embedded node, the clock the test's.
 */

import type { EmbeddedNode, ManualClock } from 'holdfast-testing';
import { CallFailure, type Client, type ScriptCall } from '../../../src/clients/client.ts';
import type {
  Driver,
  RawConnection,
  RawConnectionEvents,
} from '../../../src/clients/connection/raw-connection.ts';
import { ownedClient } from '../../../src/clients/owned-client.ts';
import { systemRandom } from '../../../src/runtime/random.ts';
import { TimerQueue } from '../../../src/runtime/timer-queue.ts';

/** What a name, a handshake and a first look at the server take, beside the way. */
const HANDSHAKE_MS = 25;

export class SilentNetwork implements Driver {
  readonly keyPrefix = '';
  readonly description: string;
  readonly #clock: ManualClock;
  readonly #server: Client;
  readonly #latencyMs: number;
  readonly #dialled: { isSilent: boolean }[] = [];

  constructor(name: string, clock: ManualClock, node: EmbeddedNode, latencyMs: number) {
    this.description = name;
    this.#clock = clock;
    this.#server = node.client();
    this.#latencyMs = latencyMs;
  }

  /** How many connections were ever made. */
  get made(): number {
    return this.#dialled.length;
  }

  /** All that are up now go silent. */
  silence(): void {
    for (const raw of this.#dialled) raw.isSilent = true;
  }

  /** A client of ours that dials through it, as `Locks` takes it. */
  client(): Client {
    const timers = new TimerQueue(this.#clock);
    return ownedClient(this, { timers, random: systemRandom, bundleMax: 128 });
  }

  async dial(_: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection> {
    const raw = { isSilent: false };
    this.#dialled.push(raw);
    signal.addEventListener('abort', () => {
      raw.isSilent = true;
    });
    const travel = (ms: number): Promise<void> =>
      new Promise((resolve) => {
        this.#clock.startTimer(ms, () => {
          if (!raw.isSilent) resolve();
        });
      });
    const send = async (call: ScriptCall): Promise<unknown> => {
      await travel(this.#latencyMs);
      const reply = await this.#server.run(call, 60_000);
      await travel(this.#latencyMs);
      if (reply instanceof CallFailure) throw new Error(reply.text);
      return reply;
    };
    await travel(HANDSHAKE_MS + 4 * this.#latencyMs);
    return {
      send,
      command: () => travel(2 * this.#latencyMs),
      subscribe: () => travel(2 * this.#latencyMs),
      unsubscribe: () => travel(2 * this.#latencyMs),
    };
  }
}
