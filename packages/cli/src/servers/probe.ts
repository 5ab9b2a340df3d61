/**
 * Finds out what listens at an address where the Redis client failed. A server that is not Redis often closes the
 * connection at once, and the client then loses what it answered. A single PING on a plain socket gets an answer that
 * can be read.
 */
import { connect } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { TlsOptions } from './tls.ts';

const PROBE_MS_MAX = 1_000;

/** `silent`: the server said nothing, and does not speak TLS. */
export type ProbeResult = 'redis' | 'tls' | 'other' | 'silent';

export async function probeServer(host: string, port: number): Promise<ProbeResult> {
  const said = await answerToPing(host, port);
  // A Redis answers PING with a simple string or an error.
  if (/^[+-]/.test(said)) return 'redis';
  // A server with TLS answers plain text with an alert (0x15 0x03), or closes without a word.
  if (said === '' || said.startsWith('\u0015\u0003'))
    return (await speaksTls(host, port)) ? 'tls' : said === '' ? 'silent' : 'other';
  return 'other';
}

function answerToPing(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const finish = (said: string): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(said);
    };
    const timer = setTimeout(() => finish(''), PROBE_MS_MAX);
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (chunk) => finish(chunk.toString('latin1')));
    socket.once('error', () => finish(''));
    socket.once('close', () => finish(''));
  });
}

async function speaksTls(host: string, port: number): Promise<boolean> {
  return (await handshake({ host, port }, 'secured')) === null;
}

/**
 * Why a server with TLS closes our connection: it says so in an alert after the handshake, which the client loses when
 * it has written meanwhile. Empty when the server says nothing.
 */
export async function tlsRejection(host: string, port: number, options: TlsOptions): Promise<string> {
  return (await handshake({ ...options, host, port }, 'closed')) ?? '';
}

/** The error, or null when `until` was reached without one. Sends nothing but the handshake: the server is not verified. */
function handshake(options: ConnectionOptions, until: 'secured' | 'closed'): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connectTls({ ...options, rejectUnauthorized: false });
    const finish = (verdict: string | null): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(verdict);
    };
    const timer = setTimeout(() => finish(''), PROBE_MS_MAX);
    if (until === 'secured') socket.once('secureConnect', () => finish(null));
    // `on`, not `once`: a destroyed connection may emit a second error.
    socket.on('error', (error) => finish(error.message));
    socket.once('close', () => finish(''));
    socket.resume();
  });
}
