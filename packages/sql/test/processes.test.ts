/** Owners in processes of their own that are frozen or killed, on PostgreSQL and MariaDB. */
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Child, startChild, useChildren } from '../../holdfast/test/support/processes/child.ts';
import { handled } from '../../holdfast/test/support/rejection.ts';
import { checkFence, retry } from '../src/index.ts';
import { untilBlocked } from './support/blocked-sessions.ts';
import { useDatabases } from './support/databases.ts';
import { duplicateRequests, REQUESTS, REQUESTS_LIMIT_MS } from './support/duplicated-requests.ts';
import { mysql2Driver, pgDriver, type Session } from './support/sessions.ts';

const OWNER = join(import.meta.dirname, 'children/owner.ts');
const { databases, brands } = useDatabases('postgresql', 'mariadb');
useChildren();

/** Long enough that an owner which works, on a busy machine, is not ended by it. */
const ROWS = [
  {
    driver: pgDriver,
    kind: 'postgresql',
    timeout: 'SET idle_in_transaction_session_timeout = 4000',
  },
  { driver: mysql2Driver, kind: 'mariadb', timeout: 'SET SESSION idle_transaction_timeout = 4' },
] as const;

interface Said {
  readonly at?: string;
  readonly end?: string;
  readonly message?: string;
}

describe.each(ROWS.filter(({ driver }) => brands.includes(driver.brand)))(
  'on $kind',
  ({ driver, kind, timeout }) => {
    let session: Session;

    beforeEach(async () => {
      session = await databases.open(driver, await databases.create(driver.brand));
      await session.run('CREATE TABLE item (id INT PRIMARY KEY, stock INT)');
      await session.run('INSERT INTO item VALUES (1, 10)');
      await session.run('CREATE TABLE ledger (id INT)');
    });

    const startOwner = (where: string, setting: string): Child<Said> =>
      startChild<Said>(OWNER, [kind, String(databases.portOf(driver.brand)), where, setting]);

    /** As the next owner, with fence 11. */
    const sell = (): Promise<void> =>
      retry(session.tx, async () => {
        await checkFence(session.tx, { resource: 'stock', fence: 11 });
        const [item] = await session.run('SELECT stock FROM item WHERE id = 1');
        await session.run('UPDATE item SET stock = ? WHERE id = 1', [Number(item?.['stock']) - 1]);
      });
    const stock = async (): Promise<unknown> => (await session.run('SELECT stock FROM item'))[0]?.['stock'];

    test('an owner frozen outside its transaction is refused when it wakes', async () => {
      const owner = startOwner('outside', '');
      await owner.next(({ at }) => at === 'outside');
      owner.stop();
      await sell();
      owner.cont();
      owner.send('go on');
      expect((await owner.next(({ end }) => end !== undefined)).end).toBe('ESTALEFENCE');
      expect(await stock()).toBe(9);
    });

    test('an owner frozen inside its transaction is ended by the time-out: its successor is served, its commit fails', async () => {
      const owner = startOwner('inside', timeout);
      await owner.next(({ at }) => at === 'inside');
      owner.stop();
      await sell();
      owner.cont();
      owner.send('go on');
      const { end, message } = await owner.next((said) => said.end !== undefined);
      expect(end, message).not.toBe('sold');
      expect(await stock()).toBe(9);
    });

    test('without the time-out the successor waits until the owner wakes; both sales count', async () => {
      const watcher = await databases.open(driver, 'test');
      const owner = startOwner('inside', '');
      await owner.next(({ at }) => at === 'inside');
      owner.stop();
      const ends: string[] = [];
      const successor = handled(sell().then(() => void ends.push('the successor')));
      await untilBlocked(driver.brand, watcher);
      expect(ends).toEqual([]);
      owner.cont();
      owner.send('go on');
      expect((await owner.next(({ end }) => end !== undefined)).end).toBe('sold');
      await successor;
      expect(await stock()).toBe(8);
    });

    test(`${REQUESTS} requests, handled by four processes that are killed at random, write ${REQUESTS} rows`, {
      timeout: REQUESTS_LIMIT_MS,
    }, async () => {
      await duplicateRequests(process.execPath, kind, String(databases.portOf(driver.brand)));
      const rows = await session.run('SELECT id FROM ledger ORDER BY id');
      expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: REQUESTS }, (_, id) => id));
    });
  },
);
