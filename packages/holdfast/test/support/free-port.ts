/**
 * Ports for servers that go away and come back.
 *
 * They are taken below the range from which the kernel gives ports to outgoing connections. Inside that range a
 * client that reconnects to a stopped server may be given the server's own port, connect to itself, and hear
 * its own commands as replies. The last is low enough that a cluster bus, 10,000 above, stays outside too.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const PORT_FIRST = 10_000;
const PORT_LAST = 21_999;
const PROBES_MAX = 100;

export async function freePort(): Promise<number> {
  for (let probe = 0; probe < PROBES_MAX; probe += 1) {
    const port = randomInt(PORT_FIRST, PORT_LAST + 1);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${PORT_FIRST} and ${PORT_LAST} after ${PROBES_MAX} probes`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
