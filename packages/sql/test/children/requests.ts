/**
 * Handles every request once more than it should: each of several processes handles all of them, in an order of its own. Says
 * how far it is, and when it has ended. Arguments: kind, place, how many, seed.
 */

import type { Kind } from './stores.ts';
import { openStore } from './stores.ts';

const [kind = 'sqlite', place = '', count = '0', seed = '1'] = process.argv.slice(2);
const EVERY = 25;

/** Knuth's generator: the same order for the same seed. */
function shuffled(length: number, start: number): number[] {
  let state = start >>> 0;
  const keys = Array.from({ length }, (_, index) => index);
  for (let index = length - 1; index > 0; index -= 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = state % (index + 1);
    [keys[index], keys[other]] = [keys[other] ?? 0, keys[index] ?? 0];
  }
  return keys;
}

const store = await openStore(kind as Kind, place);
let done = 0;
for (const key of shuffled(Number(count), Number(seed))) {
  await store.transaction((tx) => tx.once(`request:${key}`, 'INSERT INTO ledger (id) VALUES (?)', [key]));
  done += 1;
  if (done % EVERY === 0) console.log(JSON.stringify({ done }));
}
await store.end();
console.log(JSON.stringify({ hasEnded: true }));
