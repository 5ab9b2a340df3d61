/**
 * The inventory sale with PostgreSQL as the stock. Three shops, each a process of its own, sell 100 items under a lock in Redis.
 * One of them is frozen in the middle of a sale, past its lease. The database refuses its late write.
 *
 *     REDIS_URL=redis://127.0.0.1 DATABASE_URL=postgres://postgres@127.0.0.1/postgres npx tsx examples/sale-postgresql/main.ts
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { LockLostError, Locks } from 'holdfast';
import { checkFence, idempotent, migrate, retry, StaleFenceError } from 'holdfast-sql';
import { Redis } from 'ioredis';
import pg from 'pg';

const ITEMS = 100;
const SHOPS = 3;
/** Short, so that the others need not wait long for the frozen shop. */
const LEASE_MS = 1_000;
const WAIT_MS = 60_000;

type Sale = 'sold' | 'sold out' | 'refused';

const client = new pg.Client(process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1/postgres');

/** One sale, in one transaction. `request` makes it count once, however often it is sent. */
async function sellOne(lease: { name: string; fence: number }, request: string): Promise<Sale> {
  return await retry(client, async () => {
    await checkFence(client, lease); // The first statement: everything below is read after it.
    return await idempotent(client, request, async (): Promise<Sale> => {
      const { rows } = await client.query('SELECT left_over FROM sale_stock');
      const left = rows[0].left_over;
      if (left === 0) return 'sold out';
      await client.query('UPDATE sale_stock SET left_over = $1', [left - 1]);
      return 'sold';
    });
  });
}

function refusedIfStale(error: unknown): Sale {
  if (error instanceof StaleFenceError) return 'refused';
  throw error;
}

function outcomeIfLost(error: unknown): Sale {
  if (error instanceof LockLostError && error.outcome?.status === 'fulfilled')
    return error.outcome.value as Sale;
  throw error;
}

/** Sells until nothing is left. The first customer of shop 1 thinks for as long as the parent wants. */
async function runShop(number: string): Promise<void> {
  const redis = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
  const locks = new Locks(redis, { leaseMs: LEASE_MS });
  for (let customer = 1; ; customer += 1) {
    const sell = async (lease: { name: string; fence: number }): Promise<Sale> => {
      if (number === '1' && customer === 1) {
        process.send?.('thinking');
        await once(process, 'message');
      }
      return await sellOne(lease, `shop:${number}:customer:${customer}`).catch(refusedIfStale);
    };
    // The lock may tell that it was lost. Whether the item was sold is what the database said.
    const sale = await locks.lock('sale-stock').using(sell, { waitMs: WAIT_MS }).catch(outcomeIfLost);
    process.send?.(sale);
    if (sale === 'sold out') break;
  }
  await locks.close();
  redis.disconnect();
  await client.end();
  process.disconnect?.();
}

async function runSale(): Promise<void> {
  await migrate(client);
  await client.query('DROP TABLE IF EXISTS sale_stock');
  await client.query('CREATE TABLE sale_stock (left_over integer NOT NULL)');
  await client.query('INSERT INTO sale_stock VALUES ($1)', [ITEMS]);
  await client.query("DELETE FROM holdfast_key WHERE key LIKE 'shop:%'");
  console.log(`${ITEMS} items, ${SHOPS} shops`);
  const count: Record<string, number> = {};
  const shops: ChildProcess[] = [];
  const open = (number: number): ChildProcess => {
    const shop = fork(process.argv[1] ?? '', ['shop', `${number}`]);
    shop.on('message', (said: string) => {
      count[said] = (count[said] ?? 0) + 1;
    });
    shops.push(shop);
    return shop;
  };
  const first = open(1);
  await once(first, 'message');
  first.kill('SIGSTOP');
  console.log('shop 1 is frozen in the middle of a sale, past its lease');
  const others = [open(2), open(3)];
  // They sell when its lease has expired.
  while (count['sold'] === undefined) await once(others[0] as ChildProcess, 'message');
  first.kill('SIGCONT');
  first.send('go on');
  const [late] = await once(first, 'message');
  console.log(`shop 1 wakes, and its write is ${late}`);
  await Promise.all(shops.map((shop) => once(shop, 'exit')));
  const { rows } = await client.query('SELECT left_over FROM sale_stock');
  console.log(`${count['sold']} sold, ${rows[0].left_over} left`);
  await client.end();
}

await client.connect();
const [role, number = ''] = process.argv.slice(2);
await (role === 'shop' ? runShop(number) : runSale());
