import { describe, expect, test } from 'vitest';
import { useLeakCheck } from '../support/leak-check.ts';
import { commandCounts, monitor } from '../support/servers/commands.ts';
import { RawConnection } from '../support/servers/raw-connection.ts';
import { ask, askAll } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';

const redis = useRedis();
useLeakCheck(redis);

describe('command counts', () => {
  test('are those since the moment they were started, without their own questions', async () => {
    await ask(redis.port, ['PING']);
    const counts = await commandCounts(redis);
    expect(await counts.delta()).toEqual({});
    await askAll(redis.port, [['PING'], ['GET', 'k'], ['PING'], ['CLIENT', 'ID']]);
    expect(await counts.delta()).toEqual({ ping: 2, get: 1, 'client|id': 1 });
    expect(await counts.delta()).toEqual({ ping: 2, get: 1, 'client|id': 1 });
    await counts.restart();
    await ask(redis.port, ['INFO']);
    expect(await counts.delta()).toEqual({ info: 1 });
  });

  test('hold what a script calls', async () => {
    const counts = await commandCounts(redis.port);
    await ask(redis.port, ['EVAL', "return redis.call('GET', KEYS[1])", '1', 'k']);
    expect(await counts.delta()).toEqual({ eval: 1, get: 1 });
  });
});

describe('a monitor', () => {
  test('tells what each client sent, to the byte, and what scripts called', async () => {
    const watch = await monitor(redis);
    using client = new RawConnection(redis.port);
    await client.ask('SELECT', '3');
    await client.ask('ECHO', 'a "b" \\ \r\n é 🔒');
    await client.ask('EVAL', "return redis.call('GET', 'k')", '0');
    const seen = await watch.commands();
    watch.stop();
    expect(seen.map(({ args }) => args)).toEqual([
      ['SELECT', '3'],
      ['ECHO', 'a "b" \\ \r\n é 🔒'],
      ['EVAL', "return redis.call('GET', 'k')", '0'],
      ['GET', 'k'],
    ]);
    expect(seen.map(({ db }) => db).slice(1)).toEqual([3, 3, 3]);
    const [, echo, evaluation, get] = seen;
    expect(echo?.client).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(evaluation?.client).toBe(echo?.client);
    expect(get?.client).toBe('lua');
  });
});
