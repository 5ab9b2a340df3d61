/** What we take from the caller's client, what we do not take, and that we leave it alone. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test } from 'vitest';
import { commandCounts } from '../../support/servers/commands.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { waitFor } from '../../support/wait-for.ts';
import { AMPLE_MS, failureOf, type Harness } from '../harness.ts';
import { append, echo, returning } from '../scripts.ts';
import { hear } from './listen-rules.ts';

/** Options that would spoil our connections if they had them too. */
const SPOILERS = {
  ioredis: {
    commandTimeout: 1,
    socketTimeout: 1,
    enableAutoPipelining: true,
    enableReadyCheck: true,
    stringNumbers: true,
    connectionName: 'theirs',
    retryStrategy: () => 1,
    reconnectOnError: () => 2,
    maxRetriesPerRequest: null,
    showFriendlyErrorStack: true,
    scripts: { theirs: { lua: 'return 1', numberOfKeys: 0 } },
  },
  nodeRedis: {
    name: 'theirs',
    pingInterval: 5,
    commandsQueueMaxLength: 1,
    disableOfflineQueue: false,
    readonly: true,
    // Numbers and texts as buffers.
    commandOptions: { timeout: 1, typeMapping: { 36: Buffer, 43: Buffer, 58: String } },
  },
  glide: {
    clientName: 'theirs',
    requestTimeout: 1,
    inflightRequestsLimit: 1,
    readOnly: true,
    // Texts as buffers, and the older protocol, which has no messages beside replies.
    defaultDecoder: 0,
    protocol: 1,
  },
};

export function callerRules(harness: Harness): void {
  const { rule } = harness;
  describe("the caller's client", () => {
    rule('is not connected by us, and nothing of ours connects before it is needed', async () => {
      const { client, caller } = await harness.adapt();
      expect(client.isConnected).toBe(false);
      await ask(harness.redis.port, ['PING']);
      expect(harness.proxy.connectionsMade).toBe(0);
      expect(await client.run(echo('x'), AMPLE_MS)).toBe('x');
      expect(client.isConnected).toBe(true);
      expect(harness.proxy.connectionsMade).toBe(1);
      await hear(client, 'news', () => {});
      expect(harness.proxy.connectionsMade).toBe(2);
      expect(caller.isReady()).toBe(false);
    });

    test.each([false, true])(
      'is left as it was: listeners, options, state (connected: %s)',
      async (isConnected) => {
        const { client, caller } = await harness.adapt({ isConnected });
        const before = caller.footprint;
        await client.run(echo('x'), AMPLE_MS);
        const stop = await hear(client, 'news', () => {});
        harness.proxy.freeze();
        await client.run(echo('x'), 20);
        harness.proxy.thaw();
        await client.run(echo('x'), AMPLE_MS);
        stop();
        expect(caller.footprint).toEqual(before);
        await client.close();
        expect(caller.footprint).toEqual(before);
        if (!isConnected) await caller.connect();
        expect(String(await caller.command('PING'))).toBe('PONG');
      },
    );

    rule('may end, and ours go on', async () => {
      const { client, caller } = await harness.adapt({ isConnected: true });
      await client.run(echo('x'), AMPLE_MS);
      await caller.end();
      expect(await client.run(echo('y'), AMPLE_MS)).toBe('y');
      await hear(client, 'news', () => {});
    });
  });

  describe('our connections', () => {
    rule('have our name and are gone after close', async () => {
      const { client } = await harness.adapt();
      await client.run(echo('x'), AMPLE_MS);
      await hear(client, 'news', () => {});
      await waitFor(async () => (await harness.ownConnections()).length === 2);
      await client.close();
      await waitFor(async () => (await harness.ownConnections()).length === 0);
    });

    rule('are in the database of the caller', async () => {
      const { client } = await harness.adapt();
      await client.run(append('x'), AMPLE_MS);
      expect(await harness.appended()).toEqual(['x']);
      harness.proxy.cutAll();
      await waitFor(async () => (await client.run(echo('again'), AMPLE_MS)) === 'again');
      await client.run(append('y'), AMPLE_MS);
      expect(await harness.appended()).toEqual(['x', 'y']);
    });

    rule('do not prefix keys; the prefix is told instead', async () => {
      const { client } = await harness.adapt();
      expect(client.keyPrefix).toBe(harness.row.keyPrefix ?? '');
      await client.run(append('x', 'list'), AMPLE_MS);
      expect(await harness.appended('list')).toEqual(['x']);
    });

    rule('say which client they are of and where, without secrets', async () => {
      const { client } = await harness.adapt({ username: 'ann', password: 'secret' });
      expect(client.description).toBe(`${harness.row.flavour.library} 127.0.0.1:${harness.proxy.port}`);
    });

    test("have none of the caller's manners", async () => {
      const { client } = await harness.adapt({ ...SPOILERS, isConnected: false });
      expect(await client.run(returning("{1, 'a'}"), AMPLE_MS)).toEqual([1, 'a']);
      await hear(client, 'news', () => {});
      await waitFor(async () => (await harness.ownConnections()).length === 2);
      const counts = await commandCounts(harness.redis);
      const slow = returning('(function() for _ = 1, 2e5 do end return 7 end)()');
      // Many at once: more than their queue may hold, longer than their commands may take.
      const answers = await Promise.all(Array.from({ length: 20 }, () => client.run(slow, AMPLE_MS)));
      expect(answers).toEqual(Array.from({ length: 20 }, () => 7));
      expect(Object.keys(await counts.delta())).not.toContain('ping');
      const refused = failureOf(await client.run(returning("redis.error_reply('READONLY you')"), AMPLE_MS));
      expect(refused).toMatchObject({ kind: 'reply', word: 'READONLY' });
      // On a machine that is busy the server may be so slow that a second one is tried; the first is kept.
      expect(client.connections).toBe(1);
    });

    rule('do not run in the async context of whoever needed them first', async () => {
      const context = new AsyncLocalStorage<string>();
      const { client } = await harness.adapt();
      const seen: (string | undefined)[] = [];
      await context.run('a request', async () => {
        await client.run(echo('x'), AMPLE_MS);
        await hear(client, 'news', () => seen.push(context.getStore()));
        expect(context.getStore()).toBe('a request');
      });
      await harness.publish('news', 'x');
      await waitFor(() => seen.length === 1);
      expect(seen).toEqual([undefined]);
    });

    rule('send nothing but what they must', async () => {
      const { client } = await harness.adapt();
      await client.run(echo('x'), AMPLE_MS);
      const verbs = harness.proxy.history.map(([verb = '', word = '']) => `${verb} ${word}`.toUpperCase());
      const allowed = /^(HELLO|AUTH|SELECT|CLIENT SETNAME|CLIENT SETINFO|EVALSHA|EVAL)\b/;
      expect(verbs.filter((verb) => !allowed.test(verb))).toEqual([]);
    });
  });

  describe('a handshake that fails', () => {
    rule('for a wrong password lets no script run, even where the default user needs none', async () => {
      const { client } = await harness.adapt({ username: 'ann', password: 'wrong' });
      const failure = failureOf(await client.run(append('x'), AMPLE_MS));
      expect(failure.kind).toBe('unreachable');
      harness.expectReason(failure.text, 'WRONGPASS');
      harness.expectReason(failureOf(await client.listen('news', () => {}, AMPLE_MS)).text, 'WRONGPASS');
      expect(await harness.appended()).toEqual([]);
    });

    rule('for a database that is not there lets no script run in another', async () => {
      const { client } = await harness.adapt({ database: 99 });
      const failure = failureOf(await client.run(append('x'), AMPLE_MS));
      expect(failure.kind).toBe('unreachable');
      harness.expectReason(failure.text, 'DB index');
      expect(String(await ask(harness.redis.port, ['INFO', 'keyspace']))).not.toContain('db0');
    });

    rule('to be named only is no failure', async () => {
      await ask(harness.redis.port, [
        'ACL',
        'SETUSER',
        'bob',
        'on',
        '>pw',
        '+@all',
        '~*',
        '&*',
        '-client|setname',
      ]);
      const { client } = await harness.adapt({ username: 'bob', password: 'pw' });
      expect(await client.run(echo('x'), AMPLE_MS)).toBe('x');
      await hear(client, 'news', () => {});
    });
  });
}
