/** A real HTTP receiver that can refuse, hang, trickle, ask for patience, leave, or die after it has read a message. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { afterAll } from 'vitest';
import { freePort } from '../../../../holdfast/test/support/servers/free-port.ts';

/** What the receiver does with the next message. A number: it answers with this status. */
export type Manner =
  | number
  | 'take'
  | 'refuse'
  | 'echo'
  | 'fail'
  | 'hang'
  | 'trickle'
  | 'patience'
  | 'leave'
  | 'die';

export interface Received {
  readonly headers: IncomingMessage['headers'];
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly manner: Manner;
  /** When it came; only differences mean something. */
  readonly atMs: number;
}

/** What a receiver that leaves asks for: more than a courier would wait by itself after its first tries. */
export const LEAVE_RETRY_AFTER_MS = 5_000;

const receivers = new Set<HttpReceiver>();

export class HttpReceiver {
  /** Every message that came, whatever was done with it. */
  readonly received: Received[] = [];
  /** For the next messages, one each; afterwards `usual`. */
  readonly manners: Manner[] = [];
  usual: Manner = 'take';
  /** Decides instead of both. */
  choose: ((message: Pick<Received, 'headers' | 'body'>) => Manner) | null = null;
  /** Where an answer with a status sends the client. */
  location: string | null = null;
  readonly #server: Server;
  readonly #scheme: 'http' | 'https';
  readonly port: number;

  private constructor(server: Server, scheme: 'http' | 'https', port: number) {
    this.#server = server;
    this.#scheme = scheme;
    this.port = port;
  }

  /** With a certificate it speaks HTTPS. */
  static async start(
    tls: { readonly key: string; readonly cert: string } | null = null,
  ): Promise<HttpReceiver> {
    const server = tls === null ? createServer() : createTlsServer(tls);
    const receiver = new HttpReceiver(server, tls === null ? 'http' : 'https', await freePort());
    receivers.add(receiver);
    server.on('request', (request, response) => receiver.#answer(request, response));
    await receiver.listen();
    return receiver;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}/hook`;
  }

  /** Also after it left. */
  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.port, '127.0.0.1', () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
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
      const { headers, url: path = '' } = request;
      const body = JSON.parse(text === '' ? '{}' : text) as Record<string, unknown>;
      const manner = this.choose?.({ headers, body }) ?? this.manners.shift() ?? this.usual;
      this.received.push({ headers, path, body, manner, atMs: performance.now() });
      if (manner === 'take') response.writeHead(200).end('ok');
      if (typeof manner === 'number')
        response.writeHead(manner, this.location === null ? {} : { Location: this.location }).end();
      if (manner === 'refuse') response.writeHead(400).end('no such channel');
      // What many web servers say of an address that they do not know.
      if (manner === 'echo') response.writeHead(404).end(`Cannot POST ${request.url}`);
      if (manner === 'fail') response.writeHead(503).end();
      if (manner === 'patience') response.writeHead(429, { 'Retry-After': '2' }).end('slow down');
      if (manner === 'leave') {
        const head = { 'Retry-After': String(LEAVE_RETRY_AFTER_MS / 1_000), Connection: 'close' };
        response.writeHead(429, head).end('slow down', () => this.#server.close());
      }
      // The head says that it is taken; the rest never ends.
      if (manner === 'trickle') response.writeHead(200).write('o');
      if (manner === 'die') request.socket.destroy();
    });
  }
}

export function useHttpReceivers(): void {
  afterAll(() => Promise.all([...receivers].map((receiver) => receiver.stop())));
}
