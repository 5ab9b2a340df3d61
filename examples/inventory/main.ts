/**
 * One instance of the shop. Start several instances: they share the stock.
 *
 *     npx tsx examples/inventory/main.ts --port 8001
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { Locks } from 'holdfast';
import { Redis } from 'ioredis';
import { createShopServer } from './server.ts';
import { CarefulShop, CarelessShop } from './shop.ts';
import { openSqliteStock } from './sqlite-stock.ts';
import { RedisStock } from './stock.ts';

const { values } = parseArgs({
  options: {
    item: { type: 'string', default: 'inventory' },
    port: { type: 'string', default: '0' },
    'lease-ms': { type: 'string', default: '30000' },
    careless: { type: 'boolean', default: false },
    /** A file of SQLite that has the stock, instead of Redis. */
    database: { type: 'string' },
  },
});

/** Several URLs, separated by spaces, are a quorum. The stock is on the first server. */
const urls = (process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379').split(' ');
const clients = urls.map((url) => new Redis(url));
const [redis, ...others] = clients as [Redis, ...Redis[]];
const options = { leaseMs: Number(values['lease-ms']), application: 'inventory shop' };
const locks = new Locks(others.length === 0 ? redis : clients, options);
const stock =
  values.database === undefined
    ? new RedisStock(redis, `${values.item}:stock`)
    : await openSqliteStock(values.database);
const shop = values.careless ? new CarelessShop(stock) : new CarefulShop(stock, locks, values.item);

const server = createShopServer(shop, stock, locks.session);
server.listen(Number(values.port), '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
console.log(JSON.stringify({ port, session: locks.session }));

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    server.closeAllConnections();
    server.close();
    await locks.close();
    for (const client of clients) client.disconnect();
  });
}
