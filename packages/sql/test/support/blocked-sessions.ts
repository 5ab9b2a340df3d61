/** Sessions that wait for a lock of the database, as its server tells. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';
import type { Brand } from './database-server.ts';
import type { Session } from './sessions.ts';

const WAITING: Readonly<Record<Brand, string>> = {
  postgresql:
    "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
  mariadb: "SELECT count(*) AS n FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
};

/** Resolves when at least that many sessions wait. `watcher` is a session of its own, outside of a transaction. */
export async function untilBlocked(brand: Brand, watcher: Session, count = 1): Promise<void> {
  await waitFor(
    async () => {
      // InnoDB shows its transactions as they were, to whoever looks again within a tenth of a second.
      await sleep(150);
      return Number((await watcher.run(WAITING[brand]))[0]?.['n']) >= count;
    },
    { what: `${count} blocked sessions` },
  );
}
