/** The contract, for every row of the matrix. */
import { describe } from 'vitest';
import { bytesContract } from './bytes.contract.ts';
import { useRow } from './harness.ts';
import { KINDS } from './kinds.ts';
import { MATRIX } from './matrix.ts';
import { redissonContract, waitingContract } from './waiting.contract.ts';

describe.each(MATRIX)('$title', (row) => {
  const test = useRow(row);

  describe.concurrent('side by side', () => {
    bytesContract(test);
    for (const kind of KINDS) waitingContract(test, kind);
    redissonContract(test);
  });
});
