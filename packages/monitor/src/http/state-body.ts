/** `GET api/v1/state`: the whole picture, made once a second at most, and compressed off the event loop. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { State, Viewer } from '../api/types.ts';
import { SAFE_HEADERS } from './responses.ts';

const compress = promisify(gzip);
const FRESH_MS = 1_000;
/** Smaller answers are not worth it. */
const COMPRESS_BYTES_MIN = 2_048;
const KEPT_MAX = 64;

export class StateBody {
  readonly #make: () => Omit<State, 'viewer'>;
  readonly #now: () => number;
  #text = '';
  #madeAt = Number.NEGATIVE_INFINITY;
  /** By the viewer's part. */
  #compressed = new Map<string, Promise<Buffer>>();

  constructor(make: () => Omit<State, 'viewer'>, now: () => number) {
    this.#make = make;
    this.#now = now;
  }

  async respond(viewer: Viewer, acceptsGzip: boolean): Promise<Response> {
    if (this.#now() - this.#madeAt > FRESH_MS) {
      this.#madeAt = this.#now();
      this.#text = JSON.stringify(this.#make()).slice(0, -1);
      this.#compressed = new Map();
    }
    const end = `,"viewer":${JSON.stringify(viewer)}}`;
    const headers = {
      ...SAFE_HEADERS,
      'content-type': 'application/json; charset=utf-8',
      vary: 'accept-encoding',
    };
    if (!acceptsGzip || this.#text.length < COMPRESS_BYTES_MIN)
      return new Response(this.#text + end, { headers });
    let body = this.#compressed.get(end);
    if (body === undefined) {
      body = compress(this.#text + end, { level: 4 });
      if (this.#compressed.size < KEPT_MAX) this.#compressed.set(end, body);
    }
    return new Response(new Uint8Array(await body), { headers: { ...headers, 'content-encoding': 'gzip' } });
  }
}
