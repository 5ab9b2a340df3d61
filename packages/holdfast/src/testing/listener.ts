/** The node's door for the outside: a loopback port that any Redis client can talk to. */
import type { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { toBytes } from './bytes.ts';
import type { NodeConnection } from './connection.ts';
import { execute } from './dispatch.ts';
import type { NodeState } from './node-state.ts';
import { ErrorReply, type NodeReply } from './reply.ts';
import { ProtocolError, RequestReader } from './resp-reader.ts';
import { encodeReply } from './resp-writer.ts';

/** Others on the same machine can reach it, nobody else: it has no password. */
const HOST = '127.0.0.1';

/**
 * How a browser's request begins. Without the check, a web page could send commands to this port in the body of a form: a
 * line of HTTP is an unknown command, and the lines after it would be run. Redis hangs up on the same two words.
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
    this.#server = createServer({ noDelay: true }, (socket) => this.#welcome(socket));
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

  #welcome(socket: Socket): void {
    this.#sockets.add(socket);
    const address = `${socket.remoteAddress}:${socket.remotePort}`;
    const reader = new RequestReader();
    const connection = this.#node.connect({
      address,
      deliver: (reply) => socket.write(encodeReply(reply, connection.protocol)),
      close: () => socket.destroy(),
    });
    socket.on('data', (chunk) => this.#node.admit(() => this.#take(socket, connection, reader, chunk)));
    // A client that goes without a word is no error of ours.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#sockets.delete(socket);
      this.#node.disconnect(connection);
    });
  }

  /** Replies and messages are written in the order in which they come up, and leave as one packet. */
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

  /** Drops the connection with everything that it still has to read and to write. */
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
