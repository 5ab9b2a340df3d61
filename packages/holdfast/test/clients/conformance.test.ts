import { describe } from 'vitest';
import { conformance } from './conformance.ts';
import { FLAVOURS } from './flavours.ts';
import { Harness, type Row } from './harness.ts';

/** Every client as it comes, in another database, with a key prefix if it knows one, and shared if it can be. */
const ROWS: readonly Row[] = FLAVOURS.flatMap((flavour) => {
  const plain: Row = { title: flavour.name, flavour };
  const prefixed: Row = { ...plain, title: `${flavour.name} with a key prefix`, keyPrefix: 'app:' };
  const shared: Row = { ...plain, title: `${flavour.name} over a shared connection`, isShared: true };
  return [
    plain,
    { ...plain, title: `${flavour.name} in database 3`, database: 3 },
    ...(flavour.hasKeyPrefix ? [prefixed] : []),
    ...(flavour.whyUnshared === undefined ? [shared] : []),
  ];
});

describe.each(ROWS)('$title', (row) => conformance(new Harness(row)));
