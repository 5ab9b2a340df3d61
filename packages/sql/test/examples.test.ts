/** The examples print what their pages say. */
import { expect, test } from 'vitest';
import { blocksOf } from '../../holdfast/test/docs/pages.ts';
import { expectPrinted } from '../../holdfast/test/docs/printed.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { useDatabases } from './support/databases.ts';
import { runExample } from './support/examples.ts';

const redis = useRedis();
const { databases, brands } = useDatabases('postgresql');

const shown = (page: string): string => {
  const block = blocksOf(page).find(({ info }) => info === 'text');
  expect(block, page).toBeDefined();
  return block?.code ?? '';
};

test.runIf(brands.length > 0)(
  'the sale with PostgreSQL as the stock is exact, and refuses the frozen shop',
  async () => {
    const database = await databases.create('postgresql', true);
    const printed = await runExample('examples/sale-postgresql/main.ts', {
      REDIS_URL: redis.url,
      DATABASE_URL: `postgres://test@127.0.0.1:${databases.portOf('postgresql')}/${database}`,
    });
    expectPrinted(printed, shown('examples/sale-postgresql/README.md'));
  },
);

test('the conditional write refuses the late owner', async () => {
  const printed = await runExample('examples/conditional-write/main.ts', { REDIS_URL: redis.url });
  expectPrinted(printed, shown('examples/conditional-write/README.md'));
});
