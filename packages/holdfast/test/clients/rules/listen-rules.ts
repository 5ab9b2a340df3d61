/** How channels are heard. */
import { describe, expect, test } from 'vitest';
import type { Client, StopListening, Wake } from '../../../src/clients/client.ts';
import { command } from '../../support/proxies/fault-proxy.ts';
import { ask } from '../../support/servers/raw-redis.ts';
import { waitFor } from '../../support/wait-for.ts';
import { AMPLE_MS, failureOf, type Harness } from '../harness.ts';
import { echo } from '../scripts.ts';

const SHORT_MS = 400;

/** Listens, and fails the test when that fails. */
export async function hear(client: Client, channel: string, wake: Wake): Promise<StopListening> {
  const result = await client.listen(channel, wake, AMPLE_MS);
  if (typeof result === 'function') return result;
  throw new Error(`listening to ${channel} failed: ${result.text}`);
}

export function listenRules(harness: Harness): void {
  const { rule } = harness;
  describe('a listener', () => {
    rule('hears what is published from the moment it is confirmed', async () => {
      const { client } = await harness.adapt();
      const heard: (string | null)[] = [];
      await hear(client, 'news', (message) => heard.push(message));
      expect(await harness.subscribers('news')).toBe(1);
      for (const message of ['0', 'é☃', '']) await harness.publish('news', message);
      await waitFor(() => heard.length === 3);
      expect(heard).toEqual(['0', 'é☃', '']);
    });

    rule('has a connection of its own beside the one for scripts, shared by all channels', async () => {
      const { client } = await harness.adapt();
      await client.run(echo('x'), AMPLE_MS);
      const channels = Array.from({ length: 100 }, (_, index) => `c${index}`);
      const heard: string[] = [];
      await Promise.all(channels.map((name) => hear(client, name, (text) => heard.push(`${name} ${text}`))));
      expect(await client.run(echo('y'), AMPLE_MS)).toBe('y');
      expect(await harness.ownConnections()).toHaveLength(2);
      for (const name of channels) await harness.publish(name, name);
      await waitFor(() => heard.length === channels.length);
      expect(heard).toEqual(channels.map((name) => `${name} ${name}`));
    });

    rule('shares one subscription with others on its channel, until the last stops', async () => {
      const { client } = await harness.adapt();
      const heard: string[] = [];
      const stops = await Promise.all(
        ['a', 'b', 'c'].map((name) => hear(client, 'news', () => heard.push(name))),
      );
      expect(harness.proxy.history.filter(command('SUBSCRIBE'))).toHaveLength(1);
      stops[0]?.();
      stops[0]?.();
      await harness.publish('news', 'x');
      await waitFor(() => heard.length === 2);
      expect(heard).toEqual(['b', 'c']);
      stops[1]?.();
      expect(await harness.subscribers('news')).toBe(1);
      stops[2]?.();
      await waitFor(async () => (await harness.subscribers('news')) === 0);
      await harness.publish('news', 'y');
      expect(heard).toEqual(['b', 'c']);
    });

    rule('that throws does not rob the others of a message', async () => {
      const { client } = await harness.adapt();
      const heard: (string | null)[] = [];
      await hear(client, 'news', () => {
        throw new Error('a careless listener');
      });
      await hear(client, 'news', (message) => heard.push(message));
      await harness.publish('news', 'x');
      await waitFor(() => heard.length === 1);
    });

    rule('that is stopped by another one, in the middle of a message, hears nothing', async () => {
      const { client } = await harness.adapt();
      const heard: string[] = [];
      const stops: StopListening[] = [];
      await hear(client, 'news', () => {
        heard.push('first');
        stops[0]?.();
      });
      stops.push(await hear(client, 'news', () => heard.push('second')));
      await harness.publish('news', 'x');
      await harness.publish('news', 'y');
      await waitFor(() => heard.length === 2);
      expect(heard).toEqual(['first', 'first']);
    });

    rule('that comes while its channel is being given up ends up subscribed', async () => {
      const { client } = await harness.adapt();
      for (let turn = 0; turn < 20; turn += 1) {
        const heard: (string | null)[] = [];
        (await hear(client, 'news', () => {}))();
        const stop = await hear(client, 'news', (message) => heard.push(message));
        await harness.publish('news', 'x');
        await waitFor(() => heard.length === 1);
        stop();
      }
      await waitFor(async () => (await harness.subscribers('news')) === 0);
    });

    rule('that stops at once, again and again, leaves no subscription', async () => {
      const { client } = await harness.adapt();
      await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const stop = await hear(client, `c${index % 5}`, () => {});
          stop();
        }),
      );
      await waitFor(async () => String(await ask(harness.redis.port, ['PUBSUB', 'CHANNELS'])) === '');
    });
  });

  describe('a listener that cannot be had', () => {
    rule('because the server is not there ends unreachable, and a later one works', async () => {
      const { client, timers } = await harness.adapt();
      harness.proxy.refuse();
      const failure = failureOf(await client.listen('news', () => {}, AMPLE_MS));
      expect(failure.kind).toBe('unreachable');
      harness.expectReason(failure.text, `ECONNREFUSED 127.0.0.1:${harness.proxy.port}`);
      expect(timers.size).toBe(0);
      await harness.proxy.accept();
      const heard: (string | null)[] = [];
      await hear(client, 'news', (message) => heard.push(message));
      await harness.publish('news', 'x');
      await waitFor(() => heard.length === 1);
    });

    rule('because there is no connection in time ends unreachable and leaves nothing', async () => {
      const { client } = await harness.adapt();
      harness.proxy.freeze();
      expect(failureOf(await client.listen('news', () => {}, SHORT_MS)).kind).toBe('unreachable');
      harness.proxy.thaw();
      await hear(client, 'other', () => {});
      expect(await harness.subscribers('news')).toBe(0);
    });

    rule('because no confirmation comes in time ends unknown and leaves nothing', async () => {
      const { client } = await harness.adapt();
      const stop = await hear(client, 'other', () => {});
      harness.proxy.freeze();
      expect(failureOf(await client.listen('news', () => {}, SHORT_MS)).kind).toBe('unknown');
      harness.proxy.thaw();
      await waitFor(() => harness.proxy.history.some(command('UNSUBSCRIBE', 'news')));
      await waitFor(async () => (await harness.subscribers('news')) === 0);
      await hear(client, 'news', () => {});
      expect(await harness.subscribers('news')).toBe(1);
      stop();
    });

    rule('because it has no right to the channel ends as a reply and hurts no other', async () => {
      await ask(harness.redis.port, [
        'ACL',
        'SETUSER',
        'ann',
        'on',
        '>pw',
        '+@all',
        '~*',
        'resetchannels',
        '&ours*',
      ]);
      const { client } = await harness.adapt({ username: 'ann', password: 'pw' });
      const heard: (string | null)[] = [];
      await hear(client, 'ours', (message) => heard.push(message));
      const failure = failureOf(await client.listen('theirs', () => {}, AMPLE_MS));
      expect(failure).toMatchObject({ kind: 'reply', word: 'NOPERM' });
      await hear(client, 'ours2', () => {});
      await harness.publish('ours', 'x');
      await waitFor(() => heard.length === 1);
      await ask(harness.redis.port, ['ACL', 'SETUSER', 'ann', 'allchannels']);
      await hear(client, 'theirs', () => {});
    });

    test.each([0, -1])('because it has no time (%d ms) ends unreachable', async (timeoutMs) => {
      const { client } = await harness.adapt();
      expect(failureOf(await client.listen('news', () => {}, timeoutMs)).kind).toBe('unreachable');
    });

    rule('because the client is closed meanwhile ends closed', async () => {
      const { client } = await harness.adapt();
      harness.proxy.freeze();
      const result = client.listen('news', () => {}, AMPLE_MS);
      await client.close();
      expect(failureOf(await result).kind).toBe('closed');
    });
  });
}
