/**
 * A TCP proxy between a client and a Redis server that fails on request, and exactly where asked: it reads the
 * protocol, so a fault is aimed at a command and not at a moment.
 */
import { createServer, type Server } from 'node:net';
import { freePort } from '../servers/free-port.ts';
import { AimedFault, type Args, type FaultKind, type Match } from './aimed-fault.ts';
import { type FaultSource, ProxyConnection } from './proxy-connection.ts';

export { command, type Match, script } from './aimed-fault.ts';

/** The most requests kept in the history; a test that sends more looks at counts, not at a list. */
const HISTORY_MAX = 100_000;
const PORT_TRIES_MAX = 10;

export class FaultProxy implements FaultSource {
  #targetPort: number;
  readonly #open = new Set<ProxyConnection>();
  #faults: AimedFault[] = [];
  readonly #received: Args[] = [];
  readonly #history: Args[] = [];
  #server: Server | null = null;
  #port = 0;
  #delayMs = 0;
  #isFrozen = false;
  #connectionsMade = 0;

  /** Not listening yet: `startProxy` does that. */
  constructor(targetPort: number) {
    this.#targetPort = targetPort;
  }

  /** Stays the same over `refuse()` and `accept()`. */
  get port(): number {
    return this.#port;
  }

  /** Where it leads: the server itself, which no fault of the proxy touches. */
  get targetPort(): number {
    return this.#targetPort;
  }

  get delayMs(): number {
    return this.#delayMs;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#port}`;
  }

  /** Clients connected now. */
  get connections(): number {
    return [...this.#open].filter((connection) => connection.hasClient).length;
  }

  /** Clients ever accepted. */
  get connectionsMade(): number {
    return this.#connectionsMade;
  }

  /** The arguments of every request that came to be forwarded or cut, in order, over all connections. */
  get history(): readonly Args[] {
    return this.#history;
  }

  /** The arguments of every request that was read from a client, also of those that are late or held. */
  get received(): readonly Args[] {
    return this.#received;
  }

  clearHistory(): void {
    this.#received.length = 0;
    this.#history.length = 0;
  }

  /**
   * The connection closes when the request comes; the server never sees it, nor what came after it. Requests
   * before it are answered first. Like every aimed fault it happens `times` times, and the promise resolves
   * with the request of the last time.
   */
  cutBeforeRequest(match: Match, times = 1): Promise<Args> {
    return this.#arm('cut-before', match, times);
  }

  /**
   * The server runs the request and answers; the answer is lost and the connection closes. What the client sent
   * after it never reaches the server. A NOSCRIPT answer passes and the fault waits for the script to run.
   */
  cutAfterRequest(match: Match, times = 1): Promise<Args> {
    return this.#arm('cut-after', match, times);
  }

  /**
   * The server runs the request; its answer is lost. The connection stays and is dead from then on, in both
   * directions: a later reply would be taken for the lost one.
   */
  dropReply(match: Match, times = 1): Promise<Args> {
    return this.#arm('drop-reply', match, times);
  }

  /** The answer comes late, and so does what follows it. Fires when the server has answered. */
  delayReply(match: Match, delayMs: number, times = 1): Promise<Args> {
    return this.#arm('delay-reply', match, times, delayMs);
  }

  /** Disarms the aimed faults that have not fired. Their promises stay open. */
  clearFaults(): void {
    this.#faults = [];
  }

  /** Each direction is late by this much from now on; 0 ends it. */
  delay(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Passes on now what is late, by whichever delay. */
  hurry(): void {
    for (const connection of this.#open) connection.hurry();
  }

  /** Forwards nothing either way, not even an end. Connections stay, new ones are accepted. */
  freeze(): void {
    this.#isFrozen = true;
    for (const connection of this.#open) connection.hold();
  }

  /** Forwards what has gathered since `freeze()`, in order. */
  thaw(): void {
    this.#isFrozen = false;
    for (const connection of this.#open) connection.release();
  }

  /**
   * Every connection that exists stays open and is dead from now on, in both directions, as after a lost route. New
   * ones work.
   */
  mute(): void {
    for (const connection of this.#open) connection.mute();
  }

  /** New connections are refused from now on; those that exist stay. */
  refuse(): void {
    this.#server?.close();
    this.#server = null;
  }

  /** Listens again on the same port. */
  async accept(): Promise<void> {
    if (this.#server === null) await this.#listen(this.#port);
  }

  /** New connections lead to another server, as behind an address that moves; those that are open stay where they are. */
  leadTo(targetPort: number): void {
    this.#targetPort = targetPort;
  }

  /** Closes every connection now. */
  cutAll(): void {
    for (const connection of this.#open) connection.destroy();
  }

  async start(): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#listen(await freePort());
      } catch (error) {
        if (tries === PORT_TRIES_MAX) throw error;
      }
    }
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    const closed = new Promise<void>((resolve) =>
      server === null ? resolve() : server.close(() => resolve()),
    );
    this.cutAll();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  receive(args: Args): void {
    if (this.#received.length < HISTORY_MAX) this.#received.push(args);
  }

  claim(args: Args): AimedFault | undefined {
    if (this.#history.length < HISTORY_MAX) this.#history.push(args);
    return this.#faults.find((fault) => fault.claim(args));
  }

  forget(connection: ProxyConnection): void {
    this.#open.delete(connection);
  }

  #arm(kind: FaultKind, match: Match, times: number, delayMs = 0): Promise<Args> {
    const fault = new AimedFault(kind, match, times, delayMs);
    this.#faults.push(fault);
    return fault.done;
  }

  #listen(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const server = createServer((client) => {
        this.#connectionsMade += 1;
        this.#open.add(new ProxyConnection(client, this.#targetPort, this));
      });
      server.once('error', reject);
      server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
        this.#port = port;
        this.#server = server;
        resolve();
      });
    });
  }
}

export async function startProxy(targetPort: number): Promise<FaultProxy> {
  const proxy = new FaultProxy(targetPort);
  await proxy.start();
  return proxy;
}
