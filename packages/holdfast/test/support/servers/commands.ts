/** What a server was asked to do: how often, and by whom. */
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { elapse, waitFor } from '../wait-for.ts';
import { ask } from './raw-redis.ts';
import { encodeRequest, RespReader } from './resp.ts';

/** A server by its port, or anything that has one. */
export type ServerPort = number | { readonly port: number };

const portOf = (server: ServerPort): number => (typeof server === 'number' ? server : server.port);

/**
 * Calls by command since a moment, as the server counts them. Commands that a script calls are counted too;
 * subcommands are named `client|setinfo`.
 */
export class CommandCounts {
  readonly #port: number;
  #start: ReadonlyMap<string, number> = new Map();
  /** Our own questions since the moment: a server counts a command after it has answered it. */
  #asked = 0;

  constructor(port: number) {
    this.#port = port;
  }

  /** Counts from now. */
  async restart(): Promise<void> {
    this.#start = await this.#read();
    this.#asked = 1;
  }

  /** Commands that were called, with how often: `{ evalsha: 2 }`. */
  async delta(): Promise<Record<string, number>> {
    const now = await this.#read();
    const ownCalls = this.#asked;
    this.#asked += 1;
    const delta: Record<string, number> = {};
    for (const [name, calls] of now) {
      const since = calls - (this.#start.get(name) ?? 0) - (name === 'info' ? ownCalls : 0);
      if (since > 0) delta[name] = since;
    }
    return delta;
  }

  async #read(): Promise<Map<string, number>> {
    const info = String(await ask(this.#port, ['INFO', 'commandstats']));
    const lines = info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
    return new Map([...lines].map(([, name = '', calls]) => [name, Number(calls)]));
  }
}

export async function commandCounts(server: ServerPort): Promise<CommandCounts> {
  const counts = new CommandCounts(portOf(server));
  await counts.restart();
  return counts;
}

/** How long nobody may run a script. */
const QUIET_MS = 100;

/** Resolves when no script has been called for a while: everybody sleeps. */
export async function untilQuiet(server: ServerPort): Promise<void> {
  const counts = await commandCounts(server);
  await waitFor(
    async () => {
      await counts.restart();
      await elapse(QUIET_MS);
      return (await counts.delta())['evalsha'] === undefined;
    },
    { what: 'everybody to sleep' },
  );
}

/** One command as the server saw it. */
export interface SeenCommand {
  readonly db: number;
  /** The address of the client, or `lua` for a command that a script called. */
  readonly client: string;
  readonly args: readonly string[];
}

const MONITOR_LINE = /^[\d.]+ \[(\d+) ([^\]]+)\] (.*)$/s;

export class Monitor {
  readonly #port: number;
  readonly #socket: Socket;
  readonly #seen: SeenCommand[] = [];
  #hasBegun = false;

  constructor(port: number) {
    this.#port = port;
    this.#socket = connect({ port, host: '127.0.0.1' });
    const reader = new RespReader();
    this.#socket.on('error', () => {});
    this.#socket.on('data', (chunk: Buffer) => {
      for (const { value } of reader.push(chunk)) this.#hear(String(value));
    });
    this.#socket.write(encodeRequest(['MONITOR']));
  }

  /** Resolves when the server has begun to report. */
  async start(): Promise<void> {
    await waitFor(() => this.#hasBegun, { what: `MONITOR to begin on port ${this.#port}` });
  }

  /** Everything the server did before this call, oldest first. */
  async commands(): Promise<readonly SeenCommand[]> {
    const marker = randomUUID();
    await ask(this.#port, ['ECHO', marker]);
    const at = (): number => this.#seen.findIndex(({ args }) => args[0] === 'ECHO' && args[1] === marker);
    await waitFor(() => at() >= 0, { what: `MONITOR to report on port ${this.#port}` });
    this.#seen.splice(at(), 1);
    return [...this.#seen];
  }

  stop(): void {
    this.#socket.destroy();
  }

  #hear(line: string): void {
    this.#hasBegun ||= line === 'OK';
    const [, db, client, args] = MONITOR_LINE.exec(line) ?? [];
    if (client !== undefined && args !== undefined) {
      this.#seen.push({ db: Number(db), client, args: parseQuoted(args) });
    }
  }
}

/** Watches every command of every client. The server slows down: not for tests that measure. */
export async function monitor(server: ServerPort): Promise<Monitor> {
  const watch = new Monitor(portOf(server));
  await watch.start();
  return watch;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' };

function parseQuoted(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, quoted = '']) => {
    const bytes = quoted.replace(/\\(?:x([0-9a-f]{2})|(.))/gi, (_, hex: string | undefined, char: string) =>
      hex === undefined ? (ESCAPES[char] ?? char) : String.fromCharCode(Number.parseInt(hex, 16)),
    );
    // The server escapes byte by byte, so a character of several bytes comes in pieces.
    return Buffer.from(bytes, 'latin1').toString('utf8');
  });
}
