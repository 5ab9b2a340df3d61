/** A command straight to a server over a socket of its own, so that no client under test is involved. */
import { connect } from 'node:net';
import { encodeRequest, RespError, RespReader, type RespValue } from './resp.ts';

/** For a machine that is busy: a server that is there answers at once. */
const ASK_LIMIT_MS = 60_000;

/** Sends one command and gives its reply; an error reply is a value. Rejects when there is no reply in time. */
export async function ask(port: number, args: readonly string[], limitMs = ASK_LIMIT_MS): Promise<RespValue> {
  const replies = await askAll(port, [args], limitMs);
  return replies[0] ?? null;
}

/** Sends several commands in one pipeline over one connection and gives their replies in order. */
export function askAll(
  port: number,
  requests: readonly (readonly string[])[],
  limitMs = ASK_LIMIT_MS,
): Promise<RespValue[]> {
  if (requests.length === 0) return Promise.resolve([]);
  return new Promise((resolve, reject) => {
    const reader = new RespReader();
    const replies: RespValue[] = [];
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const fail = (error: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(() => {
      fail(new Error(`no reply from port ${port} to ${JSON.stringify(requests)} within ${limitMs} ms`));
    }, limitMs);
    socket.on('error', fail);
    socket.on('close', () => fail(new Error(`port ${port} closed the connection before its reply`)));
    socket.on('connect', () => socket.write(Buffer.concat(requests.map(encodeRequest))));
    socket.on('data', (chunk: Buffer) => {
      for (const frame of reader.push(chunk)) replies.push(frame.value);
      if (replies.length < requests.length) return;
      clearTimeout(timer);
      socket.removeAllListeners('close');
      // Resolved when the socket is gone, so that a check for open handles never sees it.
      socket.once('close', () => resolve(replies));
      socket.destroy();
    });
  });
}

/** The reply as a list of strings, for commands such as KEYS; anything else is an error. */
export function asStrings(reply: RespValue): string[] {
  if (!Array.isArray(reply)) throw new Error(`expected a list, got ${describeReply(reply)}`);
  return reply.map(String);
}

export function describeReply(reply: RespValue): string {
  return reply instanceof RespError ? `error reply: ${reply.text}` : JSON.stringify(reply);
}
