/** Conflicts that end a transaction of MariaDB. `victim` is inside one, and both have the table `item` with the rows 1 and 2. */
import { handled } from '../../../holdfast/test/support/rejection.ts';
import type { Session } from './sessions.ts';

/** Two transactions that wait for each other: `victim` gets 1213, and its transaction is over. */
export async function deadlock(victim: Pick<Session, 'run'>, other: Session): Promise<unknown> {
  await other.begin();
  for (let id = 100; id < 140; id += 1) await other.run('INSERT INTO item VALUES (?, 0)', [id]);
  await other.run('UPDATE item SET stock = 1 WHERE id = 2');
  await victim.run('UPDATE item SET stock = 5 WHERE id = 1');
  const waiting = handled(other.run('UPDATE item SET stock = 2 WHERE id = 1'));
  const error = await victim.run('UPDATE item SET stock = 3 WHERE id = 2').catch((caught: unknown) => caught);
  await waiting;
  await other.rollback();
  return error;
}

/** A write of what another has changed since `victim` took its snapshot: `victim` gets 1020, and its transaction is over. */
export async function oldSnapshot(victim: Session, other: Session): Promise<unknown> {
  await victim.run('UPDATE item SET stock = 5 WHERE id = 1');
  await victim.run('SELECT stock FROM item');
  await other.run('UPDATE item SET stock = stock + 1 WHERE id = 2');
  return await victim.run('UPDATE item SET stock = 3 WHERE id = 2').catch((caught: unknown) => caught);
}
