/** The contract: every rule of a lock, for rows of the matrix. Each file that asks it of some rows runs beside the others. */
import { describe, vi } from 'vitest';
import { KINDS } from '../support/locks/kind.ts';
import { useRow } from './harness.ts';
import type { Row } from './matrix.ts';
import { adminContract } from './rules/admin.contract.ts';
import { adminLineContract } from './rules/admin-line.contract.ts';
import { bytesContract } from './rules/bytes.contract.ts';
import { closeContract } from './rules/close.contract.ts';
import { conflictContract, counterConflictContract } from './rules/conflict.contract.ts';
import { contextContract } from './rules/context.contract.ts';
import { disruptionContract } from './rules/disruption.contract.ts';
import { handoverContract } from './rules/handover.contract.ts';
import { inputContract } from './rules/input.contract.ts';
import { leaseContract } from './rules/lease.contract.ts';
import { fenceContract } from './rules/lock/fence.contract.ts';
import { fixedContract } from './rules/lock/fixed.contract.ts';
import { reentryContract } from './rules/lock/reentry.contract.ts';
import { mutexContract } from './rules/mutex.contract.ts';
import { nameContract } from './rules/name.contract.ts';
import { onceContract } from './rules/once.contract.ts';
import { releaseContract } from './rules/release.contract.ts';
import { backgroundContract, trafficContract } from './rules/traffic.contract.ts';
import { usingContract } from './rules/using.contract.ts';
import { redissonContract, waitingContract } from './rules/waiting.contract.ts';

/** They wait far more than they work. */
const CONCURRENCY = 12;

export function askContract(rows: readonly Row[]): void {
  vi.setConfig({ maxConcurrency: CONCURRENCY });
  for (const row of rows)
    describe(row.title, () => {
      const test = useRow(row);

      // These keep to names of their own, so they share the server and the time.
      describe.concurrent('side by side', () => {
        bytesContract(test);
        for (const kind of KINDS) {
          waitingContract(test, kind);
          releaseContract(test, kind);
          usingContract(test, kind);
          leaseContract(test, kind);
          conflictContract(test, kind);
          nameContract(test, kind);
          contextContract(test, kind);
          handoverContract(test, kind);
        }
        redissonContract(test);
        counterConflictContract(test);
        reentryContract(test);
        fixedContract(test);
        mutexContract(test);
        fenceContract(test);
        adminContract(test);
        adminLineContract(test);
        closeContract(test);
        onceContract(test);
      });

      // These count every command, or empty the server and change its settings.
      describe('one after the other', () => {
        inputContract(test);
        for (const kind of KINDS) trafficContract(test, kind);
        backgroundContract(test);
        disruptionContract(test);
      });
    });
}
