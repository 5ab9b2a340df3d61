/**
 * A fence for a resource without SQL: a store that knows nothing of fences, but writes only if an object has not changed. Object
 * stores (S3 and others) and many HTTP services do that with `If-Match` and an ETag.
 *
 *     npx tsx examples/conditional-write/main.ts
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Locks } from 'holdfast';
import { Redis } from 'ioredis';

/** The store: one object. PUT needs `If-Match` with the ETag that GET gave, or answers 412. */
async function startStore(): Promise<{ url: string; server: Server }> {
  let body = JSON.stringify({ fence: 0, balance: 0 });
  let version = 1;
  const server = createServer(async (request, response) => {
    const etag = `"${version}"`;
    if (request.method === 'GET') return response.writeHead(200, { etag }).end(body);
    if (request.headers['if-match'] === undefined) return response.writeHead(428).end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    // Compared here, in one step with the write: while the body was on its way, another write may have come.
    if (request.headers['if-match'] !== `"${version}"`) return response.writeHead(412).end();
    body = Buffer.concat(chunks).toString();
    version += 1;
    return response.writeHead(204, { etag: `"${version}"` }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/account/7`, server };
}

interface Account {
  readonly fence: number;
  readonly balance: number;
}

/**
 * Reads, compares the fence that is stored **in the object**, and writes both. If the object has changed since it was read, the
 * store answers 412, and everything begins again: a later owner is then seen by its fence.
 */
async function writeFenced(url: string, fence: number, change: (balance: number) => number): Promise<number> {
  for (;;) {
    const read = await fetch(url);
    const account = (await read.json()) as Account;
    if (account.fence > fence) throw new Error('refused: a later owner has written');
    const balance = change(account.balance);
    const headers = { 'if-match': read.headers.get('etag') ?? '' };
    const { status } = await fetch(url, { method: 'PUT', headers, body: JSON.stringify({ fence, balance }) });
    if (status === 204) return balance;
    if (status !== 412) throw new Error(`expected 204 or 412, got ${status}`);
  }
}

/** Pauses the whole process, like a machine that is suspended. */
function pauseProcess(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const { url, server } = await startStore();
const slow = new Locks(redis);
const quick = new Locks(redis); // Behaves like a process on another machine.

const late = await slow.lock('account:7').acquire({ leaseMs: 300, waitMs: 5_000 });
pauseProcess(400);
const written = await quick
  .lock('account:7')
  .using((lease) => writeFenced(url, lease.fence, (balance) => balance + 50), { waitMs: 5_000 });
console.log(`the next owner has written ${written}`);
await writeFenced(url, late.fence, (balance) => balance + 110).catch((error: Error) =>
  console.log(error.message),
);
const { balance } = (await (await fetch(url)).json()) as Account;
console.log(`the balance is ${balance}`);

await Promise.all([slow.close(), quick.close()]);
redis.disconnect();
server.closeAllConnections();
server.close();
