/**
 * How the head of a turnstile sleeps: until a message, a time, or a nudge from inside.
 *
 * A message is a hint. It sets a flag and ends a sleep; it never decides anything. One that arrives while an
 * attempt is under way is kept, so that the attempt's "held" is followed by another attempt at once.
 */
import { CallFailure, type StopListening } from '../clients/client.ts';
import { Deadline, type TimerQueue } from '../runtime/timer-queue.ts';
import type { Topology } from '../topologies/topology.ts';

/** - `message`: somebody released. - `resync`: messages may have been missed. - `time`: nothing came. - `nudge`: ours. */
export type WakeReason = 'message' | 'resync' | 'time' | 'nudge';

export class Wakeup {
  readonly #timers: TimerQueue;
  readonly #topology: Topology;
  readonly #channel: string;
  #stop: StopListening | null = null;
  #generation = 0;
  #pending: WakeReason | null = null;
  #endSleep: ((reason: WakeReason) => void) | null = null;

  constructor(timers: TimerQueue, topology: Topology, channel: string) {
    this.#timers = timers;
    this.#topology = topology;
    this.#channel = channel;
  }

  get isListening(): boolean {
    return this.#stop !== null;
  }

  /** Subscribes. Resolves to null when the server has confirmed, or to why it did not. */
  async listen(timeoutMs: number): Promise<CallFailure | null> {
    const generation = this.#generation;
    const wake = (message: string | null): void => this.#wake(message === null ? 'resync' : 'message');
    const stop = await this.#topology.listen(this.#channel, wake, timeoutMs);
    if (stop instanceof CallFailure) return stop;
    if (generation !== this.#generation) {
      stop();
      return new CallFailure('closed', 'nobody listens any more');
    }
    this.#stop = stop;
    return null;
  }

  /** Stops listening. A `listen` still under way is undone when it ends. */
  stop(): void {
    this.#generation += 1;
    this.#pending = null;
    this.#stop?.();
    this.#stop = null;
  }

  /** Forgets hints so far: the attempt that is about to be sent will see what they told. */
  reset(): void {
    this.#pending = null;
  }

  nudge(): void {
    this.#wake('nudge');
  }

  /** Sleeps until woken, for at most `delayMs`. A hint that came since `reset` ends it at once. */
  sleep(delayMs: number): Promise<WakeReason> {
    if (this.#pending !== null) return Promise.resolve(this.#pending);
    return new Promise((resolve) => {
      const deadline = new Deadline(() => this.#wake('time'), true);
      this.#endSleep = (reason) => {
        this.#endSleep = null;
        this.#timers.cancel(deadline);
        resolve(reason);
      };
      this.#timers.setIn(deadline, delayMs);
    });
  }

  #wake(reason: WakeReason): void {
    if (this.#endSleep !== null) this.#endSleep(reason);
    else this.#pending = reason;
  }
}
