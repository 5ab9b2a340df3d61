/**
 * What answers at an address that has hung up on the Redis client? Some servers answer nonsense and hang up at once, and
 * then the nonsense is lost with the connection. A word that every Redis knows, sent alone, gets an answer that is not.
 */
import { connect } from 'node:net';

const SNIFF_MS_MAX = 1_000;

/** Whether it answers, and not as Redis does. */
export function speaksSomethingElse(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const finish = (verdict: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(verdict);
    };
    const timer = setTimeout(() => finish(false), SNIFF_MS_MAX);
    socket.once('connect', () => socket.write('PING\r\n'));
    // Replies to a plain word begin with one of these two.
    socket.once('data', (chunk) => finish(!/^[+-]/.test(chunk.toString('latin1'))));
    socket.once('error', () => finish(false));
    socket.once('close', () => finish(false));
  });
}
