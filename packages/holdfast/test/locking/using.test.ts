/** `using`, and what a lease is to its caller: results are never hidden, losses never swallowed. */
import { describe, expect, test } from 'vitest';
import type { LockLostError } from '../../src/errors.ts';
import { rejection } from '../support/rejection.ts';
import { hangs, losesAnswer, refuses } from './support/scripted-client.ts';
import { Stage, type StageProcess } from './support/stage.ts';

function setup(): { stage: Stage; process: StageProcess } {
  const stage = new Stage();
  return { stage, process: stage.process() };
}

describe('using', () => {
  test('gives the result of its body and releases', async () => {
    const { stage, process } = setup();
    expect(await process.lock('a').using(async ({ isHeld }) => [isHeld, stage.server.keys])).toEqual([
      true,
      ['a'],
    ]);
    expect(stage.server.keys).toEqual([]);
  });

  test('gives the error of its body and releases', async () => {
    const { stage, process } = setup();
    const fault = new Error('of the body');
    expect(await rejection(process.lock('a').using(() => Promise.reject(fault)))).toBe(fault);
    const thrown = (): never => {
      throw fault;
    };
    expect(await rejection(process.lock('a').using(thrown))).toBe(fault);
    expect(stage.server.keys).toEqual([]);
  });

  test.each([
    ['no answer', losesAnswer(5)],
    ['no connection', refuses()],
  ])('keeps the result of its body when the release gets %s', async (_, fate) => {
    const { stage, process } = setup();
    process.client.next('lock.release', fate);
    expect(await stage.until(process.lock('a').using(async () => 'done'))).toBe('done');
    await stage.clock.advance(1_000);
    expect(stage.server.keys).toEqual([]);
  });

  test('rejects with the loss and keeps what the body did', async () => {
    const { stage, process } = setup();
    const work = process.lock('a').using(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return 'done';
    });
    stage.server.delete('a');
    const error = (await stage.until(rejection(work))) as LockLostError;
    expect(error).toMatchObject({ code: 'ELOCKLOST', reason: 'gone', lock: 'a' });
    expect(error.outcome).toEqual({ status: 'fulfilled', value: 'done' });
    expect(error.message).toMatch(/not ours any more; the body finished all the same$/);
  });

  test('rejects with the loss and keeps the error of the body', async () => {
    const { stage, process } = setup();
    const fault = new Error('of the body');
    process.client.from('lock.renew', hangs());
    const work = process.lock('a').using(
      async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        throw fault;
      },
      { leaseMs: 600 },
    );
    const error = (await stage.until(rejection(work))) as LockLostError;
    expect(error).toMatchObject({ code: 'ELOCKLOST', reason: 'expired', cause: fault });
    expect(error.outcome).toEqual({ status: 'rejected', reason: fault });
  });

  test('rejects when the lock turns out to be gone at the release', async () => {
    const { stage, process } = setup();
    const work = process.lock('a').using(async () => {
      stage.server.delete('a');
      return 5;
    });
    const error = (await rejection(work)) as LockLostError;
    expect(error).toMatchObject({ code: 'ELOCKLOST', reason: 'gone' });
    expect(error.outcome).toEqual({ status: 'fulfilled', value: 5 });
  });

  test('lets its body release early', async () => {
    const { stage, process } = setup();
    const work = process.lock('a').using(async (lease) => {
      await lease.release();
      return stage.server.keys;
    });
    expect(await work).toEqual([]);
    expect(process.client.sent('lock.release')).toHaveLength(1);
  });

  test('does not run its body when it does not get the lock', async () => {
    const { stage, process } = setup();
    stage.server.occupy('a', 60_000);
    let hasRun = false;
    const work = process.lock('a').using(
      async () => {
        hasRun = true;
      },
      { waitMs: 100 },
    );
    expect(await stage.until(rejection(work))).toMatchObject({ code: 'ELOCKTIMEOUT' });
    expect(hasRun).toBe(false);
  });

  test('needs a function', async () => {
    const { process } = setup();
    await expect(process.lock('a').using(5 as never)).rejects.toThrow(
      'expected the body of using to be a function, got 5',
    );
    expect(process.client.calls).toEqual([]);
  });
});

describe('a lease', () => {
  test('is released at the end of its block, and a failing release does not throw there', async () => {
    const { stage, process } = setup();
    {
      await using lease = await process.lock('a').acquire();
      expect(lease.isHeld).toBe(true);
    }
    expect(stage.server.keys).toEqual([]);
    const lease = await process.lock('a').acquire();
    process.client.next('lock.release', refuses());
    await lease[Symbol.asyncDispose]();
  });

  test('tells a log what it is, and no secret', async () => {
    const { process } = setup();
    const lease = await process.mutex('m').acquire({ leaseMs: 1_000 });
    expect(JSON.parse(JSON.stringify(lease))).toEqual({ name: 'm', isHeld: true, remainingMs: 988 });
  });
});
