/**
 * Ports for servers that go away and come back.
 *
 * They are taken below the range from which the kernel gives ports to outgoing connections. Inside that range a
 * client that reconnects to a stopped server may be given the server's own port, connect to itself, and hear
 * its own commands as replies. The last is low enough that a cluster bus, 10,000 above, stays outside too.
 *
 * A port that is free for a moment still has clients that call it: those of the proxy that refuses, or of the
 * server that is down. So test files that run side by side take from ranges of their own, and one file takes no
 * port twice before it has been round its range. Two checkouts that are tested side by side are told apart by
 * `HOLDFAST_TEST_RANGE`, the number of the range from which theirs begin.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const PORT_FIRST = 10_000;
const PORTS = 12_000;
/** More than the test files that ever run side by side. */
const RANGES = 8;
const RANGE_PORTS = PORTS / RANGES;
const PROBES_MAX = 100;

const range =
  (Number(process.env['HOLDFAST_TEST_RANGE'] ?? 0) + Number(process.env['VITEST_POOL_ID'] ?? 0)) % RANGES;
let next = randomInt(RANGE_PORTS);

export async function freePort(): Promise<number> {
  for (let probe = 0; probe < PROBES_MAX; probe += 1) {
    const port = PORT_FIRST + range * RANGE_PORTS + next;
    next = (next + 1) % RANGE_PORTS;
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port among ${PROBES_MAX} from ${PORT_FIRST + range * RANGE_PORTS} on`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
