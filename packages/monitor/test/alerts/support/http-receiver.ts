/** A real HTTP receiver that can refuse, hang, trickle, ask for patience, or die after it has read a message. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';

/** What the receiver does with the next message. */
export type Manner = 'take' | 'refuse' | 'echo' | 'fail' | 'hang' | 'trickle' | 'patience' | 'die';

export interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly manner: Manner;
}

const receivers = new Set<HttpReceiver>();

export class HttpReceiver {
  /** Every message that came, whatever was done with it. */
  readonly received: Received[] = [];
  /** For the next messages, one each; afterwards `usual`. */
  readonly manners: Manner[] = [];
  usual: Manner = 'take';
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<HttpReceiver> {
    const server = createServer();
    const receiver = new HttpReceiver(server);
    receivers.add(receiver);
    server.on('request', (request, response) => receiver.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  /** The messages that were taken. */
  get taken(): Received[] {
    return this.received.filter(({ manner }) => manner === 'take' || manner === 'trickle');
  }

  async stop(): Promise<void> {
    receivers.delete(this);
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    let text = '';
    request.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    request.on('end', () => {
      const manner = this.manners.shift() ?? this.usual;
      const body = JSON.parse(text === '' ? '{}' : text) as Record<string, unknown>;
      this.received.push({ headers: request.headers, path: request.url ?? '', body, manner });
      if (manner === 'take') response.writeHead(200).end('ok');
      if (manner === 'refuse') response.writeHead(400).end('no such channel');
      // What many web servers say of an address that they do not know.
      if (manner === 'echo') response.writeHead(404).end(`Cannot POST ${request.url}`);
      if (manner === 'fail') response.writeHead(503).end();
      if (manner === 'patience') response.writeHead(429, { 'Retry-After': '2' }).end('slow down');
      // The head says that it is taken; the rest never ends.
      if (manner === 'trickle') response.writeHead(200).write('o');
      if (manner === 'die') request.socket.destroy();
    });
  }
}

export function useHttpReceivers(): void {
  afterAll(() => Promise.all([...receivers].map((receiver) => receiver.stop())));
}
