/** The TCP port of a node, on the loopback interface, for any Redis client. */
import type { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { execute } from '../commands/dispatch.ts';
import { toBytes } from '../protocol/bytes.ts';
import { ErrorReply, type NodeReply } from '../protocol/reply.ts';
import { ProtocolError, RequestReader } from '../protocol/resp-reader.ts';
import { encodeReply } from '../protocol/resp-writer.ts';
import type { NodeConnection } from '../state/connection.ts';
import type { NodeState } from '../state/node-state.ts';

/** Loopback only: the node has no password, so other machines must not reach it. */
const HOST = '127.0.0.1';

/**
 * The first word of a line of HTTP. A web page could otherwise send commands to this port in the body of a form: Redis
 * reads a line of HTTP as an unknown command, and would run the lines after it. Redis closes the connection on the same
 * two words.
 */
const HTTP = /^(post$|host:)/i;

export interface NodeAddress {
  readonly host: string;
  readonly port: number;
  /** `redis://127.0.0.1:<port>` */
  readonly url: string;
}

export class Listener {
  readonly #node: NodeState;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #hasWarned = false;

  constructor(node: NodeState) {
    this.#node = node;
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  async listen(port: number): Promise<NodeAddress> {
    this.#server.listen(port, HOST);
    await once(this.#server, 'listening');
    const { port: bound } = this.#server.address() as AddressInfo;
    return { host: HOST, port: bound, url: `redis://${HOST}:${bound}` };
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    const address = `${socket.remoteAddress}:${socket.remotePort}`;
    const reader = new RequestReader();
    const connection = this.#node.connect({
      address,
      deliver: (reply) => socket.write(encodeReply(reply, connection.protocol)),
      close: () => socket.destroy(),
    });
    socket.on('data', (chunk) => this.#node.admit(() => this.#take(socket, connection, reader, chunk)));
    // A reset by the client is not an error of the node; `close` follows.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#sockets.delete(socket);
      this.#node.disconnect(connection);
    });
  }

  /** Runs the requests of one chunk. Replies and messages are written in the order in which they arise, in one packet. */
  #take(socket: Socket, connection: NodeConnection, reader: RequestReader, chunk: Buffer): void {
    const answer = (reply: NodeReply): unknown => socket.write(encodeReply(reply, connection.protocol));
    socket.cork();
    try {
      for (const request of reader.push(chunk)) {
        if (connection.isLeaving) break;
        if (HTTP.test(request[0] ?? '')) {
          this.#hangUp(socket, connection);
          break;
        }
        answer(execute(this.#node, connection, request));
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      answer(new ErrorReply(toBytes(`ERR Protocol error: ${error.message}`)));
      connection.isLeaving = true;
    }
    socket.uncork();
    if (connection.isLeaving) socket.end();
  }

  /** Closes the connection. Requests that were not run and replies that were not sent are discarded. */
  #hangUp(socket: Socket, connection: NodeConnection): void {
    connection.isLeaving = true;
    const port = socket.localPort;
    socket.destroy();
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    process.emitWarning(
      `an HTTP request came to the Redis port ${port}, perhaps from a web page in a browser on this machine: the connection was closed, and what followed was not run`,
      { type: 'HoldfastWarning', code: 'HOLDFAST_HTTP_REQUEST' },
    );
  }
}
