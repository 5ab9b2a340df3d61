/** A process that may not subscribe where it would hear of its turn, beside others that may and are never done. */
import { describe, expect, test } from 'vitest';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS } from '../../support/locks/kind.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { useRedis } from '../../support/servers/redis-server.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

const TURNS = 3;

describe.each(KINDS)('a process that may not subscribe to its channel, $name', (kind) => {
  test('gets its turns with the guests while others hand the lock to each other', async () => {
    const rules = [
      'reset',
      'on',
      '>secret',
      '+@all',
      '~*',
      `&${kind.channel('name')}*`.replace('{name}', ''),
    ];
    await ask(redis.port, ['ACL', 'SETUSER', 'deaf', ...rules]);
    bench.onEnd(() => ask(redis.port, ['ACL', 'DELUSER', 'deaf']));
    const name = bench.name();
    const deaf = await bench.session(redis.port, { username: 'deaf', password: 'secret' });
    const others = await Promise.all([bench.session(redis.port), bench.session(redis.port)]);
    let isOver = false;
    const busy = others.map(async (locks) => {
      while (!isOver)
        await kind.of(locks, name).using(() => new Promise((resolve) => setTimeout(resolve, 5)));
    });
    for (let turn = 0; turn < TURNS; turn += 1) {
      expect(await kind.of(deaf, name).using(() => 'served', { waitMs: 60_000 })).toBe('served');
    }
    isOver = true;
    await Promise.all(busy);
  });
});
