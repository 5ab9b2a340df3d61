/** Notices when this process stands still, by late turns of its event loop: on a shared machine somebody else has the core. */
const LOOK_EVERY_MS = 10;
/** Less is no stall. */
const STALL_MS_MIN = 100;

export class StallWatch {
  #longestMs = 0;
  #lookedMs = performance.now();
  readonly #looking = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();

  /** The longest stall so far; none when it was no stall. */
  get longestMs(): number {
    return this.#longestMs < STALL_MS_MIN ? 0 : this.#longestMs;
  }

  end(): void {
    clearInterval(this.#looking);
  }

  #look(): void {
    const nowMs = performance.now();
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lookedMs - LOOK_EVERY_MS);
    this.#lookedMs = nowMs;
  }
}
