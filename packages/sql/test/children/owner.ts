/**
 * An owner of the lock that sells one item with fence 10, and is frozen on the way: inside its transaction, after the check, or
 * outside, before it. Or its successor, with fence 11, which nobody freezes. Says where it is, waits for a line, and says how it ended. Arguments: kind, place, where, a setting.
 */
import { once } from 'node:events';
import type { Kind } from './stores.ts';
import { openStore } from './stores.ts';

const [kind = 'sqlite', place = '', where = 'inside', setting = ''] = process.argv.slice(2);

const say = (line: object): void => console.log(JSON.stringify(line));

async function pause(): Promise<void> {
  say({ at: where });
  await once(process.stdin, 'data');
}

const store = await openStore(kind as Kind, place);
if (setting !== '') await store.say(setting);
try {
  if (where === 'outside') await pause();
  if (where === 'successor') say({ at: where });
  await store.transaction(async (tx) => {
    await tx.check('stock', where === 'successor' ? 11 : 10);
    if (where === 'inside') await pause();
    const [item] = await tx.run('SELECT stock FROM item WHERE id = 1');
    await tx.run('UPDATE item SET stock = ? WHERE id = 1', [Number(item?.['stock']) - 1]);
  });
  say({ end: 'sold' });
} catch (error) {
  const { code, name, message } = error as Error & { code?: unknown };
  say({ end: code ?? name, message });
}
await store.end().catch(() => {});
process.stdin.destroy();
