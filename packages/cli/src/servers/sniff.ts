/**
 * What answers at an address that the Redis client could not talk to? Some servers answer nonsense and hang up at once,
 * and then the nonsense is lost with the connection. A word that every Redis knows, sent alone, gets an answer that is not.
 */
import { connect } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { TlsOptions } from './tls.ts';

const SNIFF_MS_MAX = 1_000;

/** `silent`: nothing could be learnt. */
export type Species = 'redis' | 'tls' | 'other' | 'silent';

export async function identify(host: string, port: number): Promise<Species> {
  const said = await answerToPing(host, port);
  // Replies to a plain word begin with one of these two.
  if (/^[+-]/.test(said)) return 'redis';
  // A server with TLS says so in a record of its own, an alert, or hangs up without a word.
  if (said === '' || said.startsWith('\u0015\u0003'))
    return (await shakesHands(host, port)) ? 'tls' : said === '' ? 'silent' : 'other';
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
    const timer = setTimeout(() => finish(''), SNIFF_MS_MAX);
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (chunk) => finish(chunk.toString('latin1')));
    socket.once('error', () => finish(''));
    socket.once('close', () => finish(''));
  });
}

async function shakesHands(host: string, port: number): Promise<boolean> {
  return (await handshake({ host, port }, 'shaken')) === null;
}

/**
 * Why a server with TLS hangs up on us. It says so in an alert behind the handshake, which is lost with the connection
 * when the client has written to it meanwhile. Empty when it says nothing.
 */
export async function tlsComplaint(host: string, port: number, options: TlsOptions): Promise<string> {
  return (await handshake({ ...options, host, port }, 'closed')) ?? '';
}

/** Up to that point; null when it was reached without an error. Nothing is sent but the handshake: anybody may answer. */
function handshake(options: ConnectionOptions, until: 'shaken' | 'closed'): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connectTls({ ...options, rejectUnauthorized: false });
    const finish = (verdict: string | null): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(verdict);
    };
    const timer = setTimeout(() => finish(''), SNIFF_MS_MAX);
    if (until === 'shaken') socket.once('secureConnect', () => finish(null));
    // Later ones too: a connection that was destroyed may still fail.
    socket.on('error', (error) => finish(error.message));
    socket.once('close', () => finish(''));
    socket.resume();
  });
}
