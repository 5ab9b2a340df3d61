/** What happens to listeners when their connection is lost. */
import { describe, expect } from 'vitest';
import { command } from '../../support/proxies/fault-proxy.ts';
import { waitFor } from '../../support/wait-for.ts';
import { AMPLE_MS, failureOf, type Harness } from '../harness.ts';
import { hear } from './listen-rules.ts';

type Heard = (string | null)[];

export function resubscribeRules(harness: Harness): void {
  const { rule } = harness;
  describe('a lost subscription', () => {
    rule('is restored, and every listener is told that it may have missed something', async () => {
      const { client } = await harness.adapt();
      const heard: Record<string, Heard> = { a: [], b: [], b2: [] };
      await hear(client, 'a', (message) => heard['a']?.push(message));
      await hear(client, 'b', (message) => heard['b']?.push(message));
      await hear(client, 'b', (message) => heard['b2']?.push(message));
      harness.proxy.cutAll();
      await waitFor(() => Object.values(heard).every((messages) => messages.length === 1));
      expect(heard).toEqual({ a: [null], b: [null], b2: [null] });
      // Told after the server has confirmed, so nothing can fall between.
      expect(await harness.subscribers('a')).toBe(1);
      await harness.publish('b', 'x');
      await waitFor(() => heard['b2']?.length === 2);
      expect(heard).toEqual({ a: [null], b: [null, 'x'], b2: [null, 'x'] });
    });

    rule('is restored, and messages are heard again', async () => {
      const { client } = await harness.adapt();
      const heard: Heard = [];
      await hear(client, 'news', (message) => heard.push(message));
      harness.proxy.cutAll();
      await waitFor(async () => {
        await harness.publish('news', 'x');
        return heard.includes('x');
      });
    });

    rule('is restored although the first attempts fail', async () => {
      const { client } = await harness.adapt();
      const heard: Heard = [];
      await hear(client, 'news', (message) => heard.push(message));
      harness.proxy.refuse();
      harness.proxy.cutAll();
      const again = failureOf(await client.listen('other', () => {}, AMPLE_MS));
      expect(again.kind).toBe('unreachable');
      await harness.proxy.accept();
      await waitFor(() => heard.length === 1);
      await harness.publish('news', 'x');
      await waitFor(() => heard.length === 2);
      expect(heard).toEqual([null, 'x']);
      expect(await harness.subscribers('other')).toBe(0);
    });

    rule('is restored when it is lost again while it is being restored', async () => {
      const { client } = await harness.adapt();
      const heard: Heard = [];
      await hear(client, 'news', (message) => heard.push(message));
      const cut = harness.proxy.cutBeforeRequest(command('SUBSCRIBE'), 2);
      harness.proxy.cutAll();
      await cut;
      await waitFor(() => heard.length === 1);
      await harness.publish('news', 'x');
      await waitFor(() => heard.length === 2);
      expect(heard).toEqual([null, 'x']);
    });

    rule('is restored when the server was killed and started again', async () => {
      const { client } = await harness.adapt({ port: harness.redis.port });
      const heard: Heard = [];
      await hear(client, 'news', (message) => heard.push(message));
      await harness.redis.kill();
      await harness.redis.restart();
      await waitFor(() => heard.length === 1, { limitMs: 15_000 });
      await harness.publish('news', 'x');
      await waitFor(() => heard.length === 2);
      expect(heard).toEqual([null, 'x']);
    });

    rule('is not restored for a listener that stopped meanwhile', async () => {
      const { client, timers } = await harness.adapt();
      const heard: Heard = [];
      const stop = await hear(client, 'news', (message) => heard.push(message));
      harness.proxy.refuse();
      harness.proxy.cutAll();
      // Refused: so the client has noticed that its connection is gone.
      await waitFor(async () => {
        const { text } = failureOf(await client.listen('probe', () => {}, AMPLE_MS));
        return text.includes('ECONNREFUSED');
      });
      stop();
      await waitFor(() => timers.size <= 1, { what: 'no more attempts to be planned' });
      await harness.proxy.accept();
      const made = harness.proxy.connectionsMade;
      await hear(client, 'other', () => {});
      expect(harness.proxy.connectionsMade - made).toBe(1);
      expect(await harness.subscribers('news')).toBe(0);
      expect(heard).toEqual([]);
    });

    rule('is not restored after close, and nobody is told', async () => {
      const { client, timers } = await harness.adapt();
      const heard: Heard = [];
      const stop = await hear(client, 'news', (message) => heard.push(message));
      harness.proxy.refuse();
      harness.proxy.cutAll();
      await client.close();
      expect(timers.size).toBe(0);
      stop();
      await harness.proxy.accept();
      expect(heard).toEqual([]);
    });
  });
}
