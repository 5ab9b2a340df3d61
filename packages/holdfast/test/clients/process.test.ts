/** What keeps a process alive, and what does not. */
import { describe, expect, test } from 'vitest';
import { type Child, startChild, useChildren } from '../support/child.ts';
import { command, type FaultProxy, startProxy } from '../support/fault-proxy.ts';
import { useRedis } from '../support/redis-server.ts';
import { FLAVOURS } from './flavours.ts';

/** Far below any timer of a client that would hold the process back: the shortest is two seconds. */
const AT_ONCE_MS = 1_500;

interface Line {
  readonly word: string;
}

const redis = useRedis();

function start(flavour: string, port: number, deed: string): Child<Line> {
  return startChild<Line>('test/clients/fixtures/leaver.ts', [flavour, String(port), deed]);
}

/** How long the process lived after it had said this. */
async function livedAfter(child: Child<Line>, word: string): Promise<number> {
  await child.next((line) => line.word === word);
  const startMs = performance.now();
  expect(await child.exited, child.stderr).toEqual({ code: 0, signal: null });
  return performance.now() - startMs;
}

async function withProxy(body: (proxy: FaultProxy) => Promise<void>): Promise<void> {
  const proxy = await startProxy(redis.port);
  try {
    await body(proxy);
  } finally {
    await proxy.stop();
  }
}

describe.each(FLAVOURS)('a process with $name', ({ name }) => {
  useChildren();

  test.each([
    ['call', 'answered'],
    ['share', 'answered'],
    ['listen and stop', 'listening'],
  ])('exits by itself, at once, when its own client has ended: %s', async (deed, word) => {
    const child = start(name, redis.port, deed);
    expect(await livedAfter(child, 'left')).toBeLessThan(AT_ONCE_MS);
    expect(child.lines).toEqual([{ word }, { word: 'left' }]);
  });

  test('stays alive until a call in flight is answered', async () => {
    await withProxy(async (proxy) => {
      const child = start(name, proxy.port, 'call in flight');
      await child.next((line) => line.word === 'left');
      expect(await child.exited, child.stderr).toEqual({ code: 0, signal: null });
      expect(child.lines).toEqual([{ word: 'left' }, { word: 'answered' }]);
    });
  });

  test.each([
    // Only our connections have a name: this is our handshake, which gets no answer.
    ['before it was written', 'unreachable', command('CLIENT', 'SETNAME')],
    ['after it was written', 'unknown', command('EVALSHA')],
  ])('is not held back by a call that was given up %s', async (_, kind, match) => {
    await withProxy(async (proxy) => {
      void proxy.dropReply(match);
      const child = start(name, proxy.port, 'time out');
      expect(await livedAfter(child, 'left')).toBeLessThan(AT_ONCE_MS);
      expect(child.lines).toEqual([{ word: kind }, { word: 'left' }]);
    });
  });

  test('stays alive while it listens, also while the connection is being restored', async () => {
    await withProxy(async (proxy) => {
      const child = start(name, proxy.port, 'listen');
      await child.next((line) => line.word === 'left');
      proxy.cutAll();
      await child.next((line) => line.word === 'null');
      expect(child.isRunning).toBe(true);
      await child.kill();
    });
  });
});
