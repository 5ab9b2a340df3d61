/**
 * A counter outside Redis that checks fences: once somebody has come with a fence, nobody with a smaller one may read
 * or write. It lives in the process of the test, and is spoken to in lines of JSON.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

export interface StoreRequest {
  readonly fence: number;
  /** The new value; without one it is a read. */
  readonly value?: number;
}

/** Null: the fence is too small. */
export interface StoreReply {
  readonly counter: number | null;
}

export class FencedStore {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #highest = 0;
  #counter = 0;
  #writes = 0;
  #lostUpdates = 0;
  #refusals = 0;

  constructor() {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.#sockets.delete(socket));
      createInterface({ input: socket }).on('line', (line) => {
        const reply: StoreReply = { counter: this.#serve(JSON.parse(line) as StoreRequest) };
        socket.write(`${JSON.stringify(reply)}\n`);
      });
    });
  }

  /** Gives its port. */
  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as { port: number }).port;
  }

  get counter(): number {
    return this.#counter;
  }

  get writes(): number {
    return this.#writes;
  }

  /** Writes that undid another: what a lock is there to prevent. */
  get lostUpdates(): number {
    return this.#lostUpdates;
  }

  /** Owners that came after a later one: what only the fence has caught. */
  get refusals(): number {
    return this.#refusals;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve({ fence, value }: StoreRequest): number | null {
    if (fence < this.#highest) {
      this.#refusals += 1;
      return null;
    }
    this.#highest = fence;
    if (value === undefined) return this.#counter;
    if (value !== this.#counter + 1) this.#lostUpdates += 1;
    this.#counter = value;
    this.#writes += 1;
    return value;
  }
}
