/**
 * Found by the simulator, with one node and seed 1015900: the first request of a session, before the server's clock is
 * known, carries no time after which it must not be granted. It was stuck for three seconds, long after its holder had
 * been released, and then locked the name for a whole lease for nobody.
 */

import { EmbeddedNode, ManualClock } from 'holdfast-testing';
import { expect, test } from 'vitest';
import { CallFailure, Locks } from '../../src/index.ts';
import { replacing } from './planted/client-bugs.ts';

test('a first request that arrives seconds after its holder was released is released again', async () => {
  const clock = new ManualClock();
  const node = new EmbeddedNode({ clock });
  const inner = node.client();
  let arrive: (() => Promise<unknown>) | null = null;
  const client = replacing(inner, {
    run: (call, timeoutMs) => {
      if (arrive !== null || !call.script.name.endsWith('.acquire')) return inner.run(call, timeoutMs);
      arrive = () => inner.run(call, timeoutMs);
      return Promise.resolve(new CallFailure('unknown', 'the connection was lost'));
    },
  });
  const locks = new Locks(client, { application: false, clock, leaseMs: 30_000, callTimeoutMs: 100 });
  const acquiring = locks.lock('a').acquire();
  await clock.advance(1_000);
  expect(await (await acquiring).release()).toBe(true);
  await clock.advance(3_000);
  expect(await node.command('EXISTS', 'a')).toBe(0);
  await (arrive as (() => Promise<unknown>) | null)?.();
  expect(await node.command('EXISTS', 'a')).toBe(1);
  await clock.advance(3_000);
  expect(await node.command('EXISTS', 'a')).toBe(0);
  await locks.close();
  await node.close();
});
