/** The contract, for every row of the matrix. */
import { describe, vi } from 'vitest';
import { adminContract } from './admin.contract.ts';
import { bytesContract } from './bytes.contract.ts';
import { closeContract } from './close.contract.ts';
import { conflictContract, counterConflictContract } from './conflict.contract.ts';
import { contextContract } from './context.contract.ts';
import { fenceContract } from './fence.contract.ts';
import { fixedContract } from './fixed.contract.ts';
import { handoverContract } from './handover.contract.ts';
import { useRow } from './harness.ts';
import { inputContract } from './input.contract.ts';
import { KINDS } from './kinds.ts';
import { leaseContract } from './lease.contract.ts';
import { MATRIX } from './matrix.ts';
import { mutexContract } from './mutex.contract.ts';
import { nameContract } from './name.contract.ts';
import { reentryContract } from './reentry.contract.ts';
import { releaseContract } from './release.contract.ts';
import { backgroundContract, trafficContract } from './traffic.contract.ts';
import { upheavalContract } from './upheaval.contract.ts';
import { usingContract } from './using.contract.ts';
import { redissonContract, waitingContract } from './waiting.contract.ts';

/** They wait far more than they work. */
vi.setConfig({ maxConcurrency: 12 });

for (const row of MATRIX)
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
      closeContract(test);
    });

    // These count every command, or turn the server upside down.
    describe('one after the other', () => {
      inputContract(test);
      for (const kind of KINDS) trafficContract(test, kind);
      backgroundContract(test);
      upheavalContract(test);
    });
  });
