/**
 * The subscription of one wait to the public channel of a name, where releases are told to all who listen: those of
 * guests, those of a quorum, and ours that find nobody in the line who hears.
 */
import { CallFailure, type StopListening } from '../../clients/client.ts';
import type { Topology } from '../../topologies/topology.ts';

/** More are not reported: the script counts fewer. */
const RELEASES_MAX = 99;

export class ReleaseListener {
  readonly #topology: Topology;
  readonly #channel: string;
  readonly #timeoutMs: number;
  readonly #hear: (message: string | null) => void;
  #stop: StopListening | null = null;
  /** Counts the ends: a subscription that is confirmed after its end is undone. */
  #ends = 0;
  #releases = 0;

  /** `hear` is called with each message, and with null when messages may have been missed. */
  constructor(
    topology: Topology,
    channel: string,
    timeoutMs: number,
    hear: (message: string | null) => void,
  ) {
    this.#topology = topology;
    this.#channel = channel;
    this.#timeoutMs = timeoutMs;
    this.#hear = hear;
  }

  get isOpen(): boolean {
    return this.#stop !== null;
  }

  /** Subscribes. Null when the server has confirmed, otherwise why it did not. */
  async open(): Promise<CallFailure | null> {
    const ends = this.#ends;
    const hear = (message: string | null): void => {
      if (message !== null) this.#releases += 1;
      this.#hear(message);
    };
    const stop = await this.#topology.listen(this.#channel, hear, this.#timeoutMs);
    if (stop instanceof CallFailure) return stop;
    if (ends !== this.#ends) {
      stop();
      return new CallFailure('closed', 'nobody listens any more');
    }
    this.#stop = stop;
    return null;
  }

  /** Ends the subscription. One that is not confirmed yet is undone when it is. */
  close(): void {
    this.#ends += 1;
    this.#releases = 0;
    this.#stop?.();
    this.#stop = null;
  }

  /** How many releases were heard since this was asked last. */
  takeReleases(): number {
    const releases = Math.min(this.#releases, RELEASES_MAX);
    this.#releases = 0;
    return releases;
  }
}
