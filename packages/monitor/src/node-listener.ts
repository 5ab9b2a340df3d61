/** Between Node's HTTP server and the handler: for `holdfast monitor`, Express, Fastify and plain `node:http`. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Monitor } from './monitor.ts';

export interface ListenerOptions {
  /** Believes `X-Forwarded-For` and `X-Forwarded-Proto`: only behind a proxy that sets them. @default false */
  readonly trustProxy?: boolean;
}

/** A request as Express passes it on: `originalUrl` has the part of the path that the mount took away from `url`. */
type Incoming = IncomingMessage & { readonly originalUrl?: string };

/** Listens as `http.createServer(nodeListener(monitor))` or `app.use('/locks', nodeListener(monitor))`. */
export function nodeListener(
  monitor: Pick<Monitor, 'handle'>,
  { trustProxy = false }: ListenerOptions = {},
): (incoming: Incoming, outgoing: ServerResponse) => void {
  return (incoming, outgoing) => {
    serve(monitor, incoming, outgoing, trustProxy).catch(() => outgoing.destroy());
  };
}

async function serve(
  monitor: Pick<Monitor, 'handle'>,
  incoming: Incoming,
  outgoing: ServerResponse,
  trustProxy: boolean,
): Promise<void> {
  const { originalUrl, url = '/' } = incoming;
  // Relative addresses of the page need the slash at the end.
  if (
    originalUrl !== undefined &&
    url.startsWith('/') &&
    /^\/(\?|$)/.test(url) &&
    !/\/(\?|$)/.test(originalUrl)
  ) {
    outgoing.writeHead(308, { location: `${originalUrl.split('?')[0]}/` }).end();
    return;
  }
  const isSecure = 'encrypted' in incoming.socket || isForwardedSecure(incoming, trustProxy);
  const response = await monitor.handle(toRequest(incoming, url, isSecure), {
    address: addressOf(incoming, trustProxy),
    isSecure,
  });
  const cookies = response.headers.getSetCookie();
  const headers = Object.fromEntries(response.headers);
  outgoing.writeHead(response.status, cookies.length === 0 ? headers : { ...headers, 'set-cookie': cookies });
  if (response.body === null || incoming.method === 'HEAD') {
    outgoing.end();
    await response.body?.cancel();
    return;
  }
  await pipeline(Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]), outgoing).catch(
    () => {},
  );
}

function toRequest(incoming: Incoming, path: string, isSecure: boolean): Request {
  const { method = 'GET' } = incoming;
  const headers = new Headers();
  for (let i = 0; i + 1 < incoming.rawHeaders.length; i += 2) {
    headers.append(incoming.rawHeaders[i] ?? '', incoming.rawHeaders[i + 1] ?? '');
  }
  const host = incoming.headers.host ?? 'localhost';
  const base = `http${isSecure ? 's' : ''}://${URL.canParse(`http://${host}`) ? host : 'localhost'}`;
  // A path with two slashes at its beginning is not the name of a host.
  const url = new URL(base + (path.startsWith('/') ? path : `/${path}`));
  if (method === 'GET' || method === 'HEAD') return new Request(url, { method, headers });
  const parsed = (incoming as { readonly body?: unknown }).body;
  // A program that mounts us may have read the body already.
  if (parsed !== undefined && typeof parsed === 'object') {
    return new Request(url, { method, headers: withoutLength(headers), body: JSON.stringify(parsed) });
  }
  const body = Readable.toWeb(incoming) as unknown as ReadableStream;
  return new Request(url, { method, headers, body, duplex: 'half' } as RequestInit);
}

function withoutLength(headers: Headers): Headers {
  headers.delete('content-length');
  return headers;
}

function isForwardedSecure(incoming: IncomingMessage, trustProxy: boolean): boolean {
  return (
    trustProxy &&
    String(incoming.headers['x-forwarded-proto'] ?? '')
      .split(',')[0]
      ?.trim() === 'https'
  );
}

/** Of `X-Forwarded-For` the last: the one that our own proxy added. */
function addressOf(incoming: IncomingMessage, trustProxy: boolean): string {
  const forwarded = trustProxy
    ? String(incoming.headers['x-forwarded-for'] ?? '')
        .split(',')
        .at(-1)
        ?.trim()
    : '';
  return forwarded || (incoming.socket.remoteAddress ?? 'unknown');
}

const HEADERS_MS_MAX = 5_000;
const REQUEST_MS_MAX = 10_000;
const SOCKETS_MAX = 256;
const HEADER_BYTES_MAX = 16 * 1024;

/** A server of our own, with limits against those who send or read slowly. */
export function createMonitorServer(monitor: Pick<Monitor, 'handle'>, options: ListenerOptions = {}): Server {
  const server = createServer(
    {
      headersTimeout: HEADERS_MS_MAX,
      requestTimeout: REQUEST_MS_MAX,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: HEADER_BYTES_MAX,
    },
    nodeListener(monitor, options),
  );
  server.maxConnections = SOCKETS_MAX;
  return server;
}
