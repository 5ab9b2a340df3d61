/** A connection to a server on which a test says exactly what is written, and sees exactly what comes back. */
import { connect, type Socket } from 'node:net';
import { waitFor } from '../wait-for.ts';
import { encodeRequest, type Frame, RespReader, type RespValue } from './resp.ts';

export class RawConnection {
  /** Every message from the server, oldest first, with those that came unasked. */
  readonly frames: readonly Frame[];
  readonly #socket: Socket;
  #isClosed = false;

  constructor(port: number) {
    const frames: Frame[] = [];
    this.frames = frames;
    const reader = new RespReader();
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (chunk: Buffer) => frames.push(...reader.push(chunk)));
    // A reset is a close to us.
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      this.#isClosed = true;
    });
  }

  get replies(): RespValue[] {
    return this.frames.map((frame) => frame.value);
  }

  /** Whether the other side has closed it, or we have. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Writes all requests at once, as one pipeline. */
  send(...requests: (readonly string[])[]): void {
    this.#socket.write(Buffer.concat(requests.map(encodeRequest)));
  }

  /** Writes bytes as they are, whole messages or not. */
  write(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** Sends one request on a quiet connection and gives the next message. */
  async ask(...args: string[]): Promise<RespValue> {
    const count = this.frames.length;
    this.send(args);
    const replies = await this.heard(count + 1);
    return replies[count] ?? null;
  }

  /** Resolves with all messages once there are this many. */
  async heard(count: number): Promise<RespValue[]> {
    await waitFor(() => this.frames.length >= count || this.#isClosed, { what: `${count} messages` });
    if (this.frames.length < count)
      throw new Error(`closed after ${this.frames.length} of ${count} messages`);
    return this.replies;
  }

  async closed(): Promise<void> {
    await waitFor(() => this.#isClosed, { what: 'the connection to be closed' });
  }

  close(): void {
    this.#socket.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
