/** One connection on which many requests are asked at once, and the messages that come back with their types. */
import { connect, type Socket } from 'node:net';
import { encodeRequest, RespReader, type RespValue } from '../../../holdfast/test/support/servers/resp.ts';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';

export interface Answer {
  /** The first byte of the message: `+ - : $ * _ , % ~ >`. */
  readonly type: string;
  readonly value: RespValue;
}

export class Conversation {
  readonly #socket: Socket;
  readonly #answers: Answer[] = [];
  #wake: (() => void) | null = null;

  constructor(port: number) {
    const reader = new RespReader();
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('error', () => {});
    this.#socket.on('data', (chunk: Buffer) => {
      for (const { type, value } of reader.push(chunk)) this.#answers.push({ type, value });
      this.#wake?.();
    });
  }

  /** Writes the requests in one go and gives one answer for each. */
  async ask(requests: readonly (readonly string[])[]): Promise<Answer[]> {
    this.#socket.write(Buffer.concat(requests.map(encodeRequest)));
    while (this.#answers.length < requests.length) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#answers.splice(0, requests.length);
  }

  async close(): Promise<void> {
    this.#socket.destroy();
    await waitFor(() => this.#socket.closed, { what: 'the socket to be closed' });
  }
}
