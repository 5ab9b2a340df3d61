/**
 * Stands in for the monitor: the built page and the same API, from scripted data. It can be cut off, made to forget what it
 * has sent, and made to refuse.
 */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { PageManifest } from '../../../src/api/page-files.ts';
import type {
  AlertPage,
  AuditPage,
  ErrorCode,
  History,
  JobsPage,
  LockDetail,
  Row,
  SeriesName,
  State,
  StreamEventName,
  StreamEvents,
} from '../../../src/api/types.ts';
import { makeAudit, makeHolds, makeLine, makeState } from './scripted.ts';
import { makeJobs } from './scripted-jobs.ts';

/** As the monitor sends it. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const TYPES: Readonly<Record<string, string>> = { html: 'text/html', js: 'text/javascript', css: 'text/css' };
const BEAT_MS = 500;
const POINTS = 720;

export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly now?: Row;
  /** For the header Retry-After, in seconds. */
  readonly retryAfter?: number;
}

interface Sent {
  readonly seq: number;
  readonly text: string;
}

export interface Posted {
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly csrf: string | undefined;
}

export class FakeMonitor {
  state: State = makeState();
  detail: Omit<LockDetail, 'row' | 'lineAt'> = {
    line: makeLine(7),
    lineLength: 240,
    holds: makeHolds(),
    reach: Date.now() - 3_600_000,
  };
  /** How long ago the line was read; null: not yet. */
  lineAgeMs: number | null = 0;
  alertPage: AlertPage = { active: [], past: [], silences: [], next: null };
  auditPage: AuditPage = { entries: makeAudit(), next: null };
  jobsPage: JobsPage = makeJobs();
  /** By path: what it answers instead. */
  readonly refusals = new Map<string, Refusal>();
  /** By path: what its answer waits for. */
  readonly gates = new Map<string, Promise<void>>();
  readonly posts: Posted[] = [];
  /** Times that the whole picture was asked for. */
  stateCount = 0;
  /** Whether looks go on; without them the picture grows old. */
  isLooking = true;
  readonly #folder: string;
  readonly #streams = new Set<ServerResponse>();
  readonly #server: Server;
  #ring: Sent[] = [];
  #seq = 0;
  #isDown = false;
  #beat: ReturnType<typeof setInterval> | undefined;

  constructor(pageFolder: string) {
    this.#folder = pageFolder;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.#beat = setInterval(() => this.#look(), BEAT_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#beat);
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  get streamCount(): number {
    return this.#streams.size;
  }

  /** As new: scripted data, no refusals, nothing sent. Streams are ended. */
  reset(part: Partial<State> = {}): void {
    this.up();
    this.cut();
    this.refusals.clear();
    this.gates.clear();
    this.posts.length = 0;
    this.stateCount = 0;
    this.isLooking = true;
    this.lineAgeMs = 0;
    this.forget();
    this.alertPage = { active: [], past: [], silences: [], next: null };
    this.auditPage = { entries: makeAudit(), next: null };
    this.jobsPage = makeJobs();
    this.state = makeState(part);
  }

  /** Ends every stream; the next connection is accepted. */
  cut(): void {
    for (const stream of this.#streams) stream.destroy();
    this.#streams.clear();
  }

  /** Every connection is broken until `up()`. */
  down(): void {
    this.#isDown = true;
    this.cut();
    this.#server.closeAllConnections();
  }

  up(): void {
    this.#isDown = false;
  }

  /** Nobody can catch up from what was sent before. */
  forget(): void {
    this.#ring = [];
  }

  send<Name extends StreamEventName>(name: Name, data: StreamEvents[Name]): void {
    this.#seq += 1;
    const text = `id: e1-${this.#seq}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
    this.#ring.push({ seq: this.#seq, text });
    this.state = { ...this.state, id: `e1-${this.#seq}` };
    for (const stream of this.#streams) stream.write(text);
  }

  /** Changes the locks, for those who ask and for those who listen. */
  change(changed: readonly Row[], removed: readonly string[] = []): void {
    const rows = new Map(this.state.locks.map((row) => [row.name, row]));
    for (const row of changed) rows.set(row.name, row);
    for (const name of removed) rows.delete(name);
    const { totals } = makeState({ locks: [...rows.values()] });
    this.state = { ...this.state, locks: [...rows.values()], totals };
    this.send('locks', { at: Date.now(), changed, removed, totals });
  }

  #look(): void {
    const at = Date.now();
    if (this.isLooking) this.state = { ...this.state, at, totals: { ...this.state.totals, lookedAt: at } };
    const { topology, survey, forbidden, limits, totals, servers } = this.state;
    if (this.#ring.length > 500) this.#ring = this.#ring.slice(-200);
    this.send('locks', { at, changed: [], removed: [], totals });
    this.send('servers', { at, changed: servers, removed: [], topology, survey, forbidden, limits });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#isDown) return void request.socket.destroy();
    const url = new URL(request.url ?? '/', 'http://monitor');
    const path = url.pathname.slice(1);
    await this.gates.get(path);
    const refusal = this.refusals.get(path);
    if (request.method === 'POST')
      this.posts.push({ path, body: await bodyOf(request), csrf: csrfOf(request) });
    if (refusal !== undefined) {
      const { status, code, message, now, retryAfter } = refusal;
      if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter));
      return json(response, { error: { code, message }, ...(now === undefined ? {} : { now }) }, status);
    }
    if (path === 'api/v1/stream') return this.#open(request, response, url.searchParams.get('from') ?? '');
    const body = this.#bodyFor(path, url.searchParams);
    if (body !== undefined) return json(response, body);
    this.#file(path, response);
  }

  #bodyFor(path: string, query: URLSearchParams): unknown {
    if (path === 'api/v1/state') {
      this.stateCount += 1;
      return { ...this.state, at: Date.now() };
    }
    if (path === 'api/v1/lock') {
      const row = this.state.locks.find(({ name }) => name === query.get('name')) ?? null;
      const lineAt = this.lineAgeMs === null ? null : Date.now() - this.lineAgeMs;
      return { row, ...this.detail, lineAt } satisfies LockDetail;
    }
    if (path === 'api/v1/servers/history') return history(query);
    if (path === 'api/v1/alerts') return { ...this.alertPage, active: this.state.alerts } satisfies AlertPage;
    if (path === 'api/v1/audit') return this.auditPage;
    if (path === 'api/v1/jobs') return this.jobsPage;
    if (['login', 'logout', 'api/v1/release', 'api/v1/silence', 'api/v1/ack'].includes(path)) return {};
    return undefined;
  }

  #open(request: IncomingMessage, response: ServerResponse, from: string): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write(
      `event: hello\ndata: ${JSON.stringify({ at: Date.now(), version: this.state.version })}\n\n`,
    );
    const last = Number(/^e1-(\d+)$/.exec(from)?.[1] ?? Number.NaN);
    const missed = this.#ring.filter(({ seq }) => seq > last);
    // Known: the position is the last one, or the event after it is still there.
    if (last !== this.#seq && missed[0]?.seq !== last + 1) {
      response.write(`event: reset\ndata: ${JSON.stringify({ at: Date.now() })}\n\n`);
    }
    for (const { text } of missed) response.write(text);
    this.#streams.add(response);
    request.on('close', () => this.#streams.delete(response));
  }

  #file(path: string, response: ServerResponse): void {
    const name = path === '' ? 'index.html' : path;
    const { files } = JSON.parse(readFileSync(join(this.#folder, 'manifest.json'), 'utf8')) as PageManifest;
    if (!files.includes(name)) {
      json(response, { error: { code: 'not-found', message: 'no such file' } }, 404);
      return;
    }
    response.writeHead(200, {
      'content-type': `${TYPES[name.slice(name.lastIndexOf('.') + 1)]}; charset=utf-8`,
      'content-security-policy': CSP,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
    response.end(readFileSync(join(this.#folder, name)));
  }
}

function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

function csrfOf(request: IncomingMessage): string | undefined {
  const value = request.headers['x-holdfast-csrf'];
  return typeof value === 'string' ? value : undefined;
}

const LEVELS: Readonly<Partial<Record<SeriesName, number>>> = {
  memoryUsed: 1.2e9,
  cpu: 0.3,
  clients: 400,
  commandsPerSecond: 8_000,
  roundTripP50Ms: 0.5,
  roundTripP99Ms: 3,
};

/** A working hour: waves, a climb in the end, and a gap where the server was restarted. */
function history(query: URLSearchParams): History {
  const stepMs = 5_000;
  const end = Math.floor(Date.now() / stepMs) * stepMs;
  const times = Array.from({ length: POINTS }, (_, index) => end - (POINTS - 1 - index) * stepMs);
  const names = (query.get('series') ?? '').split(',') as SeriesName[];
  const wave = (level: number) =>
    times.map((_, index) =>
      index > 300 && index < 320
        ? null
        : level * (1 + 0.2 * Math.sin(index / 40) + 0.1 * Math.sin(index / 7) + (index / POINTS) ** 4 * 0.5),
    );
  return {
    server: query.get('server') ?? '',
    stepMs,
    times,
    series: Object.fromEntries(names.map((name) => [name, wave(LEVELS[name] ?? 1)])),
  };
}
