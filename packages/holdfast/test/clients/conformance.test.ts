import { describe } from 'vitest';
import { rowsOf } from '../support/extent.ts';
import { conformance } from './conformance.ts';
import { FLAVOURS } from './flavours.ts';
import { Harness, type Row } from './harness.ts';

/**
 * Every client as it comes, in another database, and with a key prefix if it knows one. Without the matrix the newest
 * of each, and another database with the oldest.
 */
const ROWS: readonly Row[] = FLAVOURS.flatMap((flavour) => {
  const { name, isMatrix = false, hasKeyPrefix } = flavour;
  const plain: Row = { title: name, flavour, isMatrix };
  const moved: Row = {
    ...plain,
    title: `${name} in database 3`,
    database: 3,
    isMatrix: !name.endsWith(' 5.4') && !name.endsWith(' 5'),
  };
  const prefixed: Row = { ...plain, title: `${name} with a key prefix`, keyPrefix: 'app:' };
  return [plain, moved, ...(hasKeyPrefix ? [prefixed] : [])];
});

describe.each(rowsOf(ROWS))('$title', (row) => conformance(new Harness(row)));
