/** What keeps a process alive, and what does not. */
import { describe, expect } from 'vitest';
import { rowsOf } from '../support/extent.ts';
import { type Child, startChild, useChildren } from '../support/processes/child.ts';
import { command, type FaultProxy, startProxy } from '../support/proxies/fault-proxy.ts';
import { startRedis, useRedis } from '../support/servers/redis-server.ts';
import { FLAVOURS } from './flavours.ts';
import { ruleOf } from './rule.ts';

/** Below the timers of a client that would hold the process back: the shortest is two seconds. */
const AT_ONCE_MS = 1_500;

interface ChildLine {
  readonly word?: string;
  readonly livedOnMs?: number;
}

const redis = useRedis();

function start(flavour: string, port: number, deed: string): Child<ChildLine> {
  return startChild<ChildLine>('test/clients/fixtures/leaver.ts', [flavour, String(port), deed]);
}

/** The process exits by itself, soon after it has left, having said these words. */
async function expectToLeave(child: Child<ChildLine>, words: string[]): Promise<void> {
  expect(await child.exited, child.stderr).toEqual({ code: 0, signal: null });
  expect(child.lines.flatMap(({ word }) => word ?? [])).toEqual(words);
  expect(child.lines.at(-1)?.livedOnMs).toBeLessThan(AT_ONCE_MS);
}

async function withProxy(body: (proxy: FaultProxy) => Promise<void>): Promise<void> {
  const proxy = await startProxy(redis.port);
  try {
    await body(proxy);
  } finally {
    await proxy.stop();
  }
}

describe.each(rowsOf(FLAVOURS))('a process with $name', (flavour) => {
  const { name } = flavour;
  const rule = ruleOf(flavour, `a process with ${name}`);
  useChildren();

  rule('exits by itself, at once, when its own client has ended and nothing of ours is in use', async () => {
    await expectToLeave(start(name, redis.port, 'use'), ['answered', 'left']);
  });

  rule('stays alive until a call in flight is answered', async () => {
    await expectToLeave(start(name, redis.port, 'call in flight'), ['left', 'answered']);
  });

  rule('is not held back by a call that was given up before it was written', async () => {
    await withProxy(async (proxy) => {
      // Only our connections have a name: this is our handshake, which gets no answer.
      void proxy.dropReply(command('CLIENT', 'SETNAME'));
      await expectToLeave(start(name, proxy.port, 'time out'), ['unreachable', 'left']);
    });
  });

  rule('is not held back by closing a connection to a server that is frozen', async () => {
    const server = await startRedis();
    const child = start(name, server.port, 'close while frozen');
    await child.next((line) => line.word === 'left');
    server.freeze();
    await expectToLeave(child, ['left', 'closed']);
    await server.stop();
  });

  rule('is not held back by a listener: whoever waits for a message does so in a timer', async () => {
    await expectToLeave(start(name, redis.port, 'listen'), ['left']);
  });

  rule('is not held back by a listener whose connection is being restored', async () => {
    await withProxy(async (proxy) => {
      const child = start(name, proxy.port, 'listen until cut');
      await child.next((line) => line.word === 'left');
      proxy.refuse();
      proxy.cutAll();
      await expectToLeave(child, ['left', 'cut']);
    });
  });
});
