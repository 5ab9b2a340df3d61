/** A server that is back and still reads its data: it answers, but nothing useful yet. */
import { expect, test } from 'vitest';
import { LockUnavailableError } from '../../../src/index.ts';
import { useBench } from '../../support/bench.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { held } from '../../support/locks/held.ts';
import { rejection } from '../../support/rejection.ts';
import { ask, askAll } from '../../support/servers/raw-redis.ts';
import { startRedis } from '../../support/servers/redis-server.ts';
import { RespError } from '../../support/servers/resp.ts';
import { waitFor } from '../../support/wait-for.ts';
import { MATRIX } from '../matrix.ts';

useLeakCheck();
const bench = useBench();

/** Slow enough that the test sees it, for twelve seconds unless it is told to hurry. */
const KEYS = 3_000;
const LOAD_DELAY_US = 4_000;

test('a server that loads its data is told by its word, waited out, and the locks in its data are still held', async () => {
  const redis = await startRedis({ loadDelayUs: LOAD_DELAY_US });
  bench.onEnd(() => redis.stop());
  await askAll(
    redis.port,
    Array.from({ length: KEYS }, (_, index) => ['SET', `filler:${index}`, 'x'.repeat(200)]),
  );
  const cells = await Promise.all(
    MATRIX.map(async ({ client, kind }) => {
      const locks = await bench.session(redis.port, { client, leaseMs: 60_000 });
      const name = bench.name();
      const lease = await kind.of(locks, name).acquire();
      return { kind, locks, name, lease };
    }),
  );
  await ask(redis.port, ['SAVE']);
  await redis.kill();
  await redis.restart();
  const isLoading = async (): Promise<boolean> => {
    const reply = await ask(redis.port, ['GET', 'x']);
    return reply instanceof RespError && reply.text.startsWith('LOADING');
  };
  expect(await isLoading()).toBe(true);
  const served = await Promise.all(
    cells.map(async ({ kind, locks, name }) => {
      const free = `${name}:free`;
      const patient = kind.of(locks, free).using(() => 'served');
      const error = await rejection(kind.of(locks, `${name}:try`).tryAcquire());
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect(error).toMatchObject({ servers: [{ text: expect.stringMatching(/LOADING/) }] });
      return { patient };
    }),
  );
  expect(await isLoading()).toBe(true);
  expect(await ask(redis.port, ['CONFIG', 'SET', 'key-load-delay', '0'])).toBe('OK');
  await waitFor(async () => !(await isLoading()), { limitMs: 20_000, what: 'the server to have loaded' });
  for (const { patient } of served) expect(await patient).toBe('served');
  for (const { kind, locks, name, lease } of cells) {
    expect(await held(redis.port, kind, `${name}:try`)).toBeNull();
    expect(lease.isHeld).toBe(true);
    // Ours, across the restart: nobody else gets in, and it can be released.
    expect(await kind.of(locks, name).tryAcquire()).toBeNull();
    await lease.extend(30_000);
    expect(await lease.release()).toBe(true);
  }
});
