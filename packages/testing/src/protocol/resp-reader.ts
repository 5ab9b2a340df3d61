/** Reads requests from a stream of bytes: arrays of bulk strings as clients send, or inline commands as typed by hand. */
import type { Buffer } from 'node:buffer';

/** The bytes are no valid request. The connection must be closed, because the next request cannot be found. */
export class ProtocolError extends Error {}

/** The limits of Redis. */
const ITEMS_MAX = 1024 * 1024;
const BULK_BYTES_MAX = 512 * 1024 * 1024;
const LINE_BYTES_MAX = 64 * 1024;

export class RequestReader {
  #pending = '';
  #at = 0;

  /** Adds bytes that have arrived, and returns the requests that are complete. */
  push(chunk: Buffer): string[][] {
    this.#pending = this.#pending.slice(this.#at) + chunk.toString('latin1');
    this.#at = 0;
    const requests: string[][] = [];
    for (;;) {
      const start = this.#at;
      const request = this.#pending[start] === '*' ? this.#readArray() : this.#readInline();
      if (request === null) {
        this.#at = start;
        return requests;
      }
      if (request.length > 0) requests.push(request);
    }
  }

  #readArray(): string[] | null {
    const header = this.#readLine();
    if (header === null) return null;
    const count = Number(header.slice(1));
    if (!Number.isInteger(count) || count > ITEMS_MAX) throw new ProtocolError('invalid multibulk length');
    const items: string[] = [];
    for (let i = 0; i < count; i += 1) {
      const line = this.#readLine();
      if (line === null) return null;
      if (line[0] !== '$') throw new ProtocolError(`expected '$', got '${line[0] ?? ''}'`);
      const length = Number(line.slice(1));
      if (!Number.isInteger(length) || length < 0 || length > BULK_BYTES_MAX)
        throw new ProtocolError('invalid bulk length');
      if (this.#pending.length < this.#at + length + 2) return null;
      items.push(this.#pending.slice(this.#at, this.#at + length));
      this.#at += length + 2;
    }
    return items;
  }

  #readInline(): string[] | null {
    const line = this.#readLine();
    return line === null ? null : line.split(/\s+/).filter((word) => word !== '');
  }

  #readLine(): string | null {
    const end = this.#pending.indexOf('\n', this.#at);
    if (end < 0) {
      if (this.#pending.length - this.#at > LINE_BYTES_MAX) throw new ProtocolError('too big inline request');
      return null;
    }
    const line = this.#pending.slice(this.#at, end);
    this.#at = end + 1;
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  }
}
