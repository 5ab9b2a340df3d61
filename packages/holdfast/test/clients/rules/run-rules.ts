/** How a script is run while all is well. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { CallFailure } from '../../../src/clients/client.ts';
import { command } from '../../support/proxies/fault-proxy.ts';
import { commandCounts } from '../../support/servers/commands.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { waitFor } from '../../support/wait-for.ts';
import { AMPLE_MS, failureOf, type Harness } from '../harness.ts';
import { append, echo, returning } from '../scripts.ts';

export function runRules(harness: Harness): void {
  const { rule } = harness;
  describe('a call', () => {
    rule('runs by its hash, and by its text when the server does not know the script', async () => {
      const { client } = await harness.adapt();
      const counts = await commandCounts(harness.redis);
      expect(await client.run(echo('a'), AMPLE_MS)).toBe('a');
      expect(await counts.delta()).toMatchObject({ evalsha: 1, eval: 1 });
      await counts.restart();
      expect(await client.run(echo('b'), AMPLE_MS)).toBe('b');
      expect(await counts.delta()).toEqual({ evalsha: 1 });
    });

    rule('works after the server has forgotten its scripts', async () => {
      const { client } = await harness.adapt();
      await client.run(echo('a'), AMPLE_MS);
      await ask(harness.redis.port, ['SCRIPT', 'FLUSH']);
      expect(await client.run(echo('b'), AMPLE_MS)).toBe('b');
    });

    test.each([
      ['42', 42],
      ['-1', -1],
      // A fence: microseconds since 1970.
      ['1900000000000001', 1_900_000_000_000_001],
      ["'text'", 'text'],
      ["'é\\n☃'", 'é\n☃'],
      ["'12'", '12'],
      ["''", ''],
      ['nil', null],
      ['false', null],
      ['{}', []],
      ["{1, 'two', false, '4'}", [1, 'two', null, '4']],
    ])('gives what the script returns: %s', async (expression, expected) => {
      const { client } = await harness.adapt();
      expect(await client.run(returning(expression), AMPLE_MS)).toEqual(expected);
    });

    rule('has its keys and arguments as they were given', async () => {
      const { client } = await harness.adapt();
      const script = { ...returning('{KEYS[1], KEYS[2], ARGV[1], ARGV[2]}').script };
      const call = { script, keys: ['a b', ''], args: ['é☃', '1'] };
      expect(await client.run(call, AMPLE_MS)).toEqual(['a b', '', 'é☃', '1']);
    });

    rule('goes out in its turn, also while the first connection is being made', async () => {
      const { client } = await harness.adapt();
      const values = Array.from({ length: 300 }, (_, index) => String(index));
      // Known before the first, so that none of them has to be sent twice.
      await ask(harness.redis.port, ['SCRIPT', 'LOAD', append('').script.source]);
      const early = values.slice(0, 200).map((value) => client.run(append(value), AMPLE_MS));
      await early[0];
      const late = values.slice(200).map((value) => client.run(append(value), AMPLE_MS));
      await Promise.all([...early, ...late]);
      expect(await harness.appended()).toEqual(values);
    });

    rule('that the server refuses ends as a reply with its word and text', async () => {
      const { client } = await harness.adapt();
      await client.run(append('x'), AMPLE_MS);
      const wrong = { ...returning("redis.call('GET', KEYS[1])"), keys: ['list'] };
      const failure = failureOf(await client.run(wrong, AMPLE_MS));
      expect(failure).toMatchObject({ kind: 'reply', word: 'WRONGTYPE' });
      expect(failure.text).toMatch(/^WRONGTYPE Operation against a key/);
    });

    rule('with a broken script ends as a reply, and is not sent by its text twice', async () => {
      const { client } = await harness.adapt();
      const failure = failureOf(await client.run(returning('nonsense('), AMPLE_MS));
      expect(failure).toMatchObject({ kind: 'reply', word: 'ERR' });
      expect(harness.proxy.history.filter(command('EVAL'))).toHaveLength(1);
    });

    test.each([0, -5, Number.NaN])(
      'with no time left (%d ms) ends unreachable and is not sent',
      async (timeoutMs) => {
        const { client } = await harness.adapt({ isConnected: true });
        await client.run(echo('x'), AMPLE_MS);
        harness.proxy.clearHistory();
        expect(failureOf(await client.run(append('x'), timeoutMs)).kind).toBe('unreachable');
        expect(harness.proxy.history).toEqual([]);
      },
    );

    rule('leaves no deadline behind but the one that watches the connection', async () => {
      const { client, timers } = await harness.adapt();
      await Promise.all(Array.from({ length: 50 }, () => client.run(echo('x'), AMPLE_MS)));
      expect(timers.size).toBeLessThanOrEqual(1);
      await client.close();
      expect(timers.size).toBe(0);
    });

    rule('of many at once is answered with its own answer', async () => {
      const { client } = await harness.adapt();
      const values = Array.from({ length: 1_000 }, (_, index) => String(index));
      const answers = await Promise.all(values.map((value) => client.run(echo(value), AMPLE_MS)));
      expect(answers).toEqual(values);
    });
  });

  describe('after close', () => {
    rule('a call and a subscription end as closed', async () => {
      const { client } = await harness.adapt();
      await client.run(echo('x'), AMPLE_MS);
      await client.close();
      await client.close();
      expect(client.isConnected).toBe(false);
      expect(failureOf(await client.run(echo('x'), AMPLE_MS)).kind).toBe('closed');
      expect(failureOf(await client.listen('c', () => {}, AMPLE_MS)).kind).toBe('closed');
    });

    rule('a connection that was being made is gone, however far it was', async () => {
      for (let turns = 0; turns < 8; turns += 1) {
        const { client, caller } = await harness.adapt();
        const call = client.run(echo('x'), AMPLE_MS);
        const listened = client.listen('c', () => {}, AMPLE_MS);
        for (let turn = 0; turn < turns; turn += 1) await nextTurn();
        await client.close();
        await Promise.all([call, listened]);
        await caller.end();
      }
      // The proxy has taken all those before it takes this one, and only this one stays.
      const { client } = await harness.adapt();
      await client.run(echo('x'), AMPLE_MS);
      await waitFor(() => harness.proxy.connections === 1);
    });

    rule('a call in flight has ended, as closed or unknown', async () => {
      const { client } = await harness.adapt();
      await client.run(echo('x'), AMPLE_MS);
      harness.proxy.freeze();
      const calls = [client.run(echo('x'), AMPLE_MS), client.run(echo('y'), AMPLE_MS)];
      await client.close();
      for (const result of await Promise.all(calls)) {
        expect(result).toBeInstanceOf(CallFailure);
        expect(['closed', 'unknown']).toContain(failureOf(result).kind);
      }
    });
  });
}
