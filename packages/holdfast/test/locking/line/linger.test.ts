/** A hold that its process keeps unowned for a while: who may use it, and when it is given up. */
import { describe, expect, test } from 'vitest';
import type { LocksOptions } from '../../../src/options/options.ts';
import { hangs } from '../support/scripted-client.ts';
import { Stage, type StageProcess } from '../support/stage.ts';

const LINGER_MS = 2_000;

const scripts = ({ client }: StageProcess): string[] => client.calls.map(({ script }) => script);

/** A process that has released the lock, and keeps it. The first hold is not kept: nobody would hear that it is wanted. */
async function kept(options: LocksOptions = {}) {
  const stage = new Stage();
  const process = stage.process({ lingerMs: LINGER_MS, ...options });
  await (await process.lock('a').acquire()).release();
  await stage.clock.settle();
  const first = await process.lock('a').acquire();
  await first.release();
  expect(stage.server.owner('a')).toContain(process.session.id);
  process.client.calls.length = 0;
  return { stage, process, first };
}

describe('a hold that is kept unowned', () => {
  test('serves the next callers of its process without a call, each with a fence of its own', async () => {
    const { process, first } = await kept();
    const fences = [first.fence];
    for (let i = 0; i < 3; i += 1) {
      const lease = await process.lock('a').acquire();
      expect(lease.isHeld).toBe(true);
      await lease.release();
      fences.push(lease.fence);
    }
    expect(scripts(process)).toEqual([]);
    expect(fences).toEqual(Array.from({ length: 4 }, (_, i) => (fences[0] as number) + i));
  });

  test('is given up when its time is over, counted from when it was asked for', async () => {
    const { stage, process } = await kept();
    await stage.clock.advance(LINGER_MS - 1);
    await (await process.lock('a').acquire()).release();
    expect(scripts(process)).toEqual([]);
    await stage.clock.advance(1);
    expect([scripts(process), stage.server.keys]).toEqual([['lock.release'], []]);
  });

  test.each(['acquire', 'tryAcquire'] as const)(
    'is given up at once when %s wants it elsewhere',
    async (verb) => {
      const { stage, process } = await kept();
      const other = stage.process();
      const lease = await stage.until(other.lock('a')[verb]());
      await stage.clock.settle();
      expect(scripts(process)).toEqual(['lock.release']);
      // A try does not wait.
      expect(lease?.isHeld).toBe(verb === 'acquire' ? true : undefined);
    },
  );

  test('is given up after its present owner when it is wanted meanwhile', async () => {
    const { stage, process } = await kept();
    const lease = await process.lock('a').acquire();
    const other = stage.process().lock('a').acquire();
    await stage.clock.advance(100);
    expect(lease.isHeld).toBe(true);
    await lease.release();
    expect((await stage.until(other)).isHeld).toBe(true);
    expect(scripts(process).filter((script) => script === 'lock.release')).toHaveLength(1);
  });

  test('is given up within its time when the word that it is wanted is lost, however busy its process is', async () => {
    const { stage, process } = await kept();
    process.client.isDeaf = true;
    let isServed = false;
    const other = stage
      .process()
      .lock('a')
      .acquire()
      .then((lease) => {
        isServed = true;
        return lease;
      });
    const startMs = stage.clock.monotonicMs();
    const busy = (async () => {
      while (!isServed) {
        const lease = await process.lock('a').acquire();
        await process.pause(10);
        await lease.release();
      }
    })();
    const lease = await stage.until(other);
    expect(stage.clock.monotonicMs() - startMs).toBeLessThanOrEqual(LINGER_MS + 100);
    await lease.release();
    await stage.until(busy);
  });

  test.each([
    { what: 'it is wanted', isMissed: false },
    { what: 'messages may have been missed', isMissed: true },
  ])('belongs to its first owner although, before its answer came, $what', async ({ isMissed }) => {
    const { stage, process } = await kept();
    await stage.clock.advance(LINGER_MS);
    process.client.next('lock.acquire', { effectMs: 0, answerMs: 30 });
    const acquiring = process.lock('a').acquire();
    await stage.clock.advance(10);
    expect(stage.server.owner('a')).toContain(process.session.id);
    const other = stage.process().lock('a').acquire();
    if (isMissed) for (const channel of stage.server.channels.names) process.client.resync(channel);
    const lease = await stage.until(acquiring);
    await stage.clock.advance(100);
    expect([lease.isHeld, stage.server.owner('a')]).toEqual([
      true,
      expect.stringContaining(process.session.id),
    ]);
    expect(await lease.release()).toBe(true);
    expect((await stage.until(other)).isHeld).toBe(true);
  });

  test('is not kept if it is wanted before the answer to a waiter that asks again', async () => {
    // Never served by the message of a grant alone: it asks again then.
    const { stage, process } = await kept({ claimMs: 0 });
    await stage.clock.advance(LINGER_MS);
    const before = await stage.process().lock('a').acquire();
    const acquiring = process.lock('a').acquire();
    await stage.clock.advance(100);
    process.client.next('lock.acquire', { effectMs: 0, answerMs: 30 });
    await before.release();
    await stage.clock.advance(10);
    expect(stage.server.owner('a')).toContain(process.session.id);
    expect(await stage.until(stage.process().lock('a').tryAcquire())).toBeNull();
    const lease = await stage.until(acquiring);
    expect(lease.isHeld).toBe(true);
    await lease.release();
    await stage.clock.settle();
    expect(stage.server.keys).toEqual([]);
  });

  test('is given up when messages may have been missed', async () => {
    const { stage, process } = await kept();
    for (const channel of stage.server.channels.names) process.client.resync(channel);
    await stage.clock.settle();
    expect(stage.server.keys).toEqual([]);
  });

  test('is given up when the session closes', async () => {
    const { stage, process } = await kept();
    await stage.until(process.session.close(1_000));
    expect(stage.server.keys).toEqual([]);
  });

  test('is renewed with a short lease, and lost without a word when that fails', async () => {
    const { stage, process } = await kept({ leaseMs: 900 });
    await stage.clock.advance(600);
    expect(scripts(process)).toContain('lock.renew');
    process.client.from('any', hangs());
    await stage.clock.advance(900);
    process.client.heal();
    const lease = await stage.until(process.lock('a').acquire());
    expect(lease.isHeld).toBe(true);
    expect(stage.server.owner('a')).toContain(process.session.id);
  });

  test('is not kept where somebody is in line', async () => {
    const { stage, process } = await kept();
    const lease = await process.lock('a').acquire();
    const others = [stage.process(), stage.process()].map((other) => other.lock('a').acquire());
    await stage.clock.settle();
    await lease.release();
    const next = await stage.until(others[0] as (typeof others)[number]);
    const again = process.lock('a').acquire();
    await stage.clock.settle();
    await next.release();
    await (await stage.until(others[1] as (typeof others)[number])).release();
    await (await stage.until(again)).release();
    await stage.clock.settle();
    expect(stage.server.keys).toEqual([]);
  });
});
