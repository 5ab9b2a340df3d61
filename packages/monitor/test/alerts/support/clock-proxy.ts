/** A proxy before a Redis whose clock is wrong: every answer to TIME is moved by as much as a test says. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../../../../holdfast/test/support/servers/free-port.ts';
import { encodeRequest, type Frame, RespReader } from '../../../../holdfast/test/support/servers/resp.ts';

export class ClockProxy {
  /** How much later it is there; read at each answer. */
  aheadMs = 0;
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number, targetPort: number) {
    this.port = port;
    this.#server = createServer((client) => this.#join(client, targetPort));
  }

  static async start(targetPort: number): Promise<ClockProxy> {
    const proxy = new ClockProxy(await freePort(), targetPort);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('error', reject);
      proxy.#server.listen({ port: proxy.port, host: '127.0.0.1', exclusive: true }, resolve);
    });
    return proxy;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Answers come in the order of the requests: nobody subscribes through this proxy. */
  #join(client: Socket, targetPort: number): void {
    const server = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    client.setNoDelay(true);
    const asksForTime: boolean[] = [];
    const [requests, replies] = [new RespReader(), new RespReader()];
    client.on('data', (chunk: Buffer) => {
      for (const { bytes, value } of requests.push(chunk)) {
        asksForTime.push(Array.isArray(value) && String(value[0]).toLowerCase() === 'time');
        server.write(bytes);
      }
    });
    server.on('data', (chunk: Buffer) => {
      for (const frame of replies.push(chunk))
        client.write(asksForTime.shift() === true ? this.#moved(frame) : frame.bytes);
    });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }

  #moved({ value, bytes }: Frame): Buffer {
    if (!Array.isArray(value)) return bytes;
    const [seconds, micros] = value.map(Number);
    const movedMs = (seconds ?? 0) * 1_000 + Math.trunc((micros ?? 0) / 1_000) + this.aheadMs;
    return encodeRequest([String(Math.floor(movedMs / 1_000)), String((movedMs % 1_000) * 1_000)]);
  }
}
