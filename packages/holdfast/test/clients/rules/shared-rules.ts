/** Scripts over the caller's own connection. */
import { describe, expect, test } from 'vitest';
import { LockConfigError } from '../../../src/errors.ts';
import { waitFor } from '../../support/wait-for.ts';
import { AMPLE_MS, failureOf, type Harness } from '../harness.ts';
import { append, echo, returning } from '../scripts.ts';
import { hear } from './listen-rules.ts';

export function sharedRules(harness: Harness): void {
  const { rule } = harness;
  const { library, hasKeyPrefix } = harness.row.flavour;

  describe('a shared connection', () => {
    rule('carries the scripts; only channels have one of ours', async () => {
      const { client } = await harness.adapt();
      expect(client.isConnected).toBe(true);
      expect(await client.run(echo('x'), AMPLE_MS)).toBe('x');
      expect(harness.proxy.connectionsMade).toBe(1);
      expect(await harness.ownConnections()).toEqual([]);
      await hear(client, 'news', () => {});
      expect(harness.proxy.connectionsMade).toBe(2);
      await waitFor(async () => (await harness.ownConnections()).length === 1);
    });

    rule('stays open and as it was after close', async () => {
      const { client, caller } = await harness.adapt();
      const before = caller.footprint;
      await client.run(echo('x'), AMPLE_MS);
      await hear(client, 'news', () => {});
      await client.close();
      expect(caller.footprint).toEqual(before);
      expect(String(await caller.command('PING'))).toBe('PONG');
    });

    rule('that was never opened carries nothing and is not opened', async () => {
      const { client, caller } = await harness.adapt({ isConnected: false });
      expect(client.isConnected).toBe(false);
      expect(['unreachable', 'closed']).toContain(failureOf(await client.run(append('x'), AMPLE_MS)).kind);
      expect(harness.proxy.connectionsMade).toBe(0);
      await caller.connect();
      expect(await client.run(append('y'), AMPLE_MS)).toBe(1);
      expect(await harness.appended()).toEqual(['y']);
    });

    rule('that is not ready queues nothing for later', async () => {
      const { client, caller } = await harness.adapt();
      harness.proxy.refuse();
      harness.proxy.cutAll();
      await waitFor(() => !caller.isReady());
      const failure = failureOf(await client.run(append('x'), AMPLE_MS));
      expect(failure.kind).toBe('unreachable');
      expect(client.isConnected).toBe(false);
      await harness.proxy.accept();
      await waitFor(() => caller.isReady());
      expect(await client.run(append('y'), AMPLE_MS)).toBe(1);
      expect(await harness.appended()).toEqual(['y']);
    });

    rule('that its owner has ended makes calls end closed or unreachable', async () => {
      const { client, caller } = await harness.adapt();
      await client.run(echo('x'), AMPLE_MS);
      await caller.end();
      await waitFor(() => !caller.isReady());
      expect(['unreachable', 'closed']).toContain(failureOf(await client.run(echo('y'), AMPLE_MS)).kind);
      expect(client.isConnected).toBe(false);
    });

    rule('that does not answer lets a call end unknown at its deadline', async () => {
      const { client } = await harness.adapt();
      await client.run(append('a'), AMPLE_MS);
      harness.proxy.freeze();
      expect(failureOf(await client.run(append('b'), 100)).kind).toBe('unknown');
      harness.proxy.thaw();
      expect(await client.run(append('c'), AMPLE_MS)).toBe(1);
      expect(await harness.appended()).toEqual(['a', 'b', 'c']);
    });

    test("gives replies in our shapes, whatever the caller's own are", async () => {
      const commandOptions = { typeMapping: { 36: Buffer, 43: Buffer, 58: String } };
      const { client } = await harness.adapt({ nodeRedis: { commandOptions } });
      expect(await client.run(returning("{1, 'a', 'OK'}"), AMPLE_MS)).toEqual([1, 'a', 'OK']);
    });

    // The last two are about an option of one library each.
    if (library === 'ioredis') {
      rule('is refused when it would prefix keys or turn numbers into text', async () => {
        const prefixed = harness.adapt({ keyPrefix: 'app:', isConnected: false });
        await expect(prefixed).rejects.toThrow(LockConfigError);
        await expect(prefixed).rejects.toThrow(
          /expected a client without keyPrefix .* got the keyPrefix "app:"/,
        );
        const numbers = harness.adapt({ ioredis: { stringNumbers: true }, isConnected: false });
        await expect(numbers).rejects.toThrow(LockConfigError);
      });
    } else if (hasKeyPrefix) {
      rule('with a key prefix does not add it to our keys', async () => {
        const { client } = await harness.adapt({ keyPrefix: 'app:' });
        expect(client.keyPrefix).toBe('app:');
        await client.run(append('x', 'list'), AMPLE_MS);
        expect(await harness.appended('list')).toEqual(['x']);
      });
    }
  });
}
