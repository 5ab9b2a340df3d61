/**
 * The stream of changes. Batches of changed names are remembered for a minute; a browser that comes back with its last id gets
 * one merged batch of the rows as they are now, and is then where a fresh fetch would have put it.
 */
import { randomBytes } from 'node:crypto';
import type { Row, StreamEventName, StreamEvents } from '../api/types.ts';

const LOCKS_EVERY_MS = 250;
const SERVERS_EVERY_MS = 1_000;
const COMMENT_EVERY_MS = 15_000;
const KEPT_MS = 60_000;
/** How much memory the remembered names may take. */
const KEPT_BYTES = 4 * 1024 * 1024;
const UNREAD_BYTES_MAX = 1024 * 1024;
/** Of rows for a page that comes back; what it is sent next has to fit beside them. */
const MISSED_BYTES_MAX = UNREAD_BYTES_MAX / 2;
const STREAMS_MAX = 64;

export interface StreamSource {
  readonly version: string;
  readonly now: () => number;
  readonly rows: ReadonlyMap<string, Row>;
  takeChanged(): ReadonlySet<string>;
  totals(): StreamEvents['locks']['totals'];
  servers(): StreamEvents['servers'];
  alerts(): StreamEvents['alert'];
}

interface Batch {
  readonly seq: number;
  readonly at: number;
  readonly names: readonly string[];
  readonly bytes: number;
}

interface Client {
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  commentAt: number;
}

export class StreamHub {
  readonly #source: StreamSource;
  readonly #epoch = randomBytes(6).toString('hex');
  readonly #clients = new Set<Client>();
  readonly #encoder = new TextEncoder();
  #seq = 0;
  #batches: Batch[] = [];
  #bytes = 0;
  #serversAt = 0;
  #serversSent = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(source: StreamSource) {
    this.#source = source;
  }

  start(): void {
    this.#timer = setInterval(() => this.turn(), LOCKS_EVERY_MS);
  }

  close(): void {
    clearInterval(this.#timer);
    for (const client of [...this.#clients]) this.#end(client);
  }

  get clients(): number {
    return this.#clients.size;
  }

  get isFull(): boolean {
    return this.#clients.size >= STREAMS_MAX;
  }

  /** The position of now: `state` of this moment and the stream from here on are the whole picture. */
  get id(): string {
    return `${this.#epoch}-${this.#seq}`;
  }

  /** Changes that nobody was told yet go into a batch, so that `id` is the position of the rows as they are. */
  flush(): void {
    const changed = this.#source.takeChanged();
    if (changed.size === 0) return;
    const at = this.#source.now();
    const names = [...changed];
    const bytes = names.reduce((sum, name) => sum + name.length * 2 + 16, 0);
    this.#seq += 1;
    this.#batches.push({ seq: this.#seq, at, names, bytes });
    this.#bytes += bytes;
    while (
      this.#batches.length > 0 &&
      (at - (this.#batches[0]?.at ?? at) > KEPT_MS || this.#bytes > KEPT_BYTES)
    ) {
      this.#bytes -= this.#batches.shift()?.bytes ?? 0;
    }
    if (this.#clients.size > 0) this.#broadcast('locks', this.#rowsOf(names), this.id);
  }

  /** Once in a while. */
  turn(): void {
    this.flush();
    const now = this.#source.now();
    if (now - this.#serversAt >= SERVERS_EVERY_MS) {
      this.#serversAt = now;
      this.#sendServers();
    }
    for (const client of [...this.#clients]) {
      if (now - client.commentAt < COMMENT_EVERY_MS) continue;
      client.commentAt = now;
      this.#write(client, ': alive\n\n');
    }
  }

  #sendServers(): void {
    const all = this.#source.servers();
    const sent = new Map(all.changed.map((card) => [card.id, JSON.stringify(card)]));
    const before = this.#serversSent;
    this.#serversSent = sent;
    if (this.#clients.size === 0) return;
    const changed = all.changed.filter(({ id }) => sent.get(id) !== before.get(id));
    const removed = [...before.keys()].filter((id) => !sent.has(id));
    this.#broadcast('servers', { ...all, changed, removed }, this.id);
    // Without a change too: the page shows how old the last look is.
    this.#broadcast('locks', this.#rowsOf([]), this.id);
  }

  sendAlerts(): void {
    if (this.#clients.size > 0) this.#broadcast('alert', this.#source.alerts(), this.id);
  }

  notice(text: string): void {
    this.#broadcast('notice', { at: this.#source.now(), text }, this.id);
  }

  #rowsOf(names: Iterable<string>): StreamEvents['locks'] {
    const changed: Row[] = [];
    const removed: string[] = [];
    for (const name of names) {
      const row = this.#source.rows.get(name);
      if (row === undefined) removed.push(name);
      else changed.push(row);
    }
    return { at: this.#source.now(), changed, removed, totals: this.#source.totals() };
  }

  /** Opens a stream that goes on from that id; from an id that is not known any more it begins with `reset`. */
  open(from: string | null): ReadableStream<Uint8Array> {
    let client: Client | undefined;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.flush();
          client = { controller, commentAt: this.#source.now() };
          this.#clients.add(client);
          this.#greet(client, from);
        },
        cancel: () => {
          if (client !== undefined) this.#clients.delete(client);
        },
      },
      { highWaterMark: UNREAD_BYTES_MAX, size: (chunk) => chunk.byteLength },
    );
  }

  #greet(client: Client, from: string | null): void {
    const { now, version } = this.#source;
    this.#send(client, 'hello', { at: now(), version }, null);
    const missed = this.#namesSince(from);
    const locks = missed === null ? null : frame('locks', this.#rowsOf(missed), this.id);
    // With more than it may leave unread it would be cut off before it could read: the whole state is compressed.
    if (locks === null || Buffer.byteLength(locks) > MISSED_BYTES_MAX) {
      this.#send(client, 'reset', { at: now() }, null);
      return;
    }
    this.#write(client, locks);
    this.#send(client, 'servers', this.#source.servers(), this.id);
    this.#send(client, 'alert', this.#source.alerts(), this.id);
  }

  /** `null` when the id is of another process, or too old. */
  #namesSince(from: string | null): Set<string> | null {
    const [, epoch, text] = /^([0-9a-f]{12})-(\d{1,15})$/.exec(from ?? '') ?? [];
    const seq = Number(text);
    if (epoch !== this.#epoch || seq > this.#seq) return null;
    const first = this.#batches[0];
    if (seq < this.#seq && (first === undefined || first.seq > seq + 1)) return null;
    const names = new Set<string>();
    for (const batch of this.#batches) {
      if (batch.seq > seq) for (const name of batch.names) names.add(name);
    }
    return names;
  }

  #broadcast<Name extends StreamEventName>(name: Name, data: StreamEvents[Name], id: string): void {
    const text = frame(name, data, id);
    for (const client of [...this.#clients]) this.#write(client, text);
  }

  #send<Name extends StreamEventName>(
    client: Client,
    name: Name,
    data: StreamEvents[Name],
    id: string | null,
  ): void {
    this.#write(client, frame(name, data, id));
  }

  #write(client: Client, text: string): void {
    // Cut off by what was written before.
    if (!this.#clients.has(client)) return;
    const { controller } = client;
    controller.enqueue(this.#encoder.encode(text));
    // A browser that does not read what was sent is cut off, and catches up when it comes back.
    if ((controller.desiredSize ?? 0) < 0) this.#end(client);
  }

  #end(client: Client): void {
    this.#clients.delete(client);
    try {
      client.controller.close();
    } catch {
      // The reader has gone already.
    }
  }
}

function frame(name: string, data: unknown, id: string | null): string {
  return `${id === null ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
