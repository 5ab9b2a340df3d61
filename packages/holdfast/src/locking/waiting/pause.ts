/**
 * The pause after a release where there is no line of waiters (a quorum): other processes heard of the release, and may
 * ask first. The first pause is time for a wake-up and a round trip. It doubles with each hold in a row that nobody else
 * came between, so that a process far away from the servers gets its turn too. Now and then it is longer, by chance (`courtesyMs`).
 */
import { type CourtesyServices, courtesyMs } from './courtesy.ts';

const PAUSE_MS_MIN = 2;
const PAUSE_MS_MAX = 100;

export class Pause {
  readonly #services: CourtesyServices;
  #untilMs = 0;
  #nextMs = PAUSE_MS_MIN;

  constructor(services: CourtesyServices) {
    this.#services = services;
  }

  /** How long this process still lets others ask first; zero or less when the pause is over. */
  get leftMs(): number {
    return this.#untilMs === 0 ? 0 : this.#untilMs - this.#services.timers.clock.monotonicMs();
  }

  /** After the release of a hold that was granted at that monotonic time. */
  begin(grantedMs: number): void {
    const pauseMs = Math.max(this.#nextMs, courtesyMs(this.#services, grantedMs));
    this.#untilMs = this.#services.timers.clock.monotonicMs() + pauseMs;
    this.#nextMs = Math.min(2 * this.#nextMs, PAUSE_MS_MAX);
  }

  /** Somebody else was seen to have the lock: others get their turn as things are. */
  reset(): void {
    this.#nextMs = PAUSE_MS_MIN;
  }
}
