/** The servers of a scenario as a far process reaches them: each through a delay proxy. */
import type { Participant } from '../../participants/participant.ts';
import { type DelayProxy, startDelayProxy } from '../delay-proxy.ts';
import type { Servers } from './servers.ts';

export class FarServers implements AsyncDisposable {
  readonly #servers: Servers;
  /** By the port of the server. */
  readonly #proxies: ReadonlyMap<number, DelayProxy>;

  private constructor(servers: Servers, proxies: ReadonlyMap<number, DelayProxy>) {
    this.#servers = servers;
    this.#proxies = proxies;
  }

  /** Starts a proxy for each server that these participants lock on. `delayMs` is the delay of one direction. */
  static async startFor(
    participants: readonly Participant[],
    servers: Servers,
    delayMs: number,
  ): Promise<FarServers> {
    const proxies = new Map<number, DelayProxy>();
    for (const port of new Set(participants.map((participant) => servers.of(participant).port)))
      proxies.set(port, await startDelayProxy(port, delayMs));
    return new FarServers(servers, proxies);
  }

  of(participant: Participant): DelayProxy {
    const proxy = this.#proxies.get(this.#servers.of(participant).port);
    if (proxy === undefined) throw new Error(`expected a delay proxy for ${participant.id}`);
    return proxy;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const proxy of this.#proxies.values()) await proxy[Symbol.asyncDispose]();
  }
}
