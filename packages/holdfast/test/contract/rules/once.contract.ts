/** `once`, on every client and topology that it works on. */
import { describe, expect } from 'vitest';
import type { Locks } from '../../../src/index.ts';
import { onceLockKey } from '../../../src/keys/derived.ts';
import { fenceKey } from '../../../src/keys/name.ts';
import { gate } from '../../support/gate.ts';
import { listed } from '../../support/locks/listed.ts';
import { rejection } from '../../support/rejection.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { ContractBench } from '../bench.ts';
import type { ContractTest } from '../harness.ts';

const WAIT_MS = 60_000;

/** Text that every client must bring there and back unharmed. */
const TEXT = '{"ü": "\u0000\r\n€ 😀"}';

/** A key whose result and counter do not outlive the rule. */
function keyOf(bench: ContractBench, locks: Locks): string {
  const key = bench.name('once');
  bench.onEnd(async () => {
    await locks.once.forget(key);
    await bench.redis.del(fenceKey(onceLockKey(bench.key(key))));
  });
  return key;
}

export function onceContract(test: ContractTest): void {
  describe('once', () => {
    test('one session runs, all get the result, and it can be forgotten', async ({ bench }) => {
      const [here, there] = await Promise.all([bench.session(), bench.session()]);
      if (bench.isQuorum) {
        expect(await rejection(here.once('k', () => 1))).toMatchObject({ code: 'ELOCKCONFIG' });
        return;
      }
      const key = keyOf(bench, here);
      const options = { waitMs: WAIT_MS, fingerprint: 'ü' };
      expect(await here.once(key, ({ attempt }) => ({ attempt, text: TEXT }), options)).toEqual({
        attempt: 1,
        text: TEXT,
      });
      expect(await there.once(key, () => ({ attempt: 9, text: '' }), options)).toEqual({
        attempt: 1,
        text: TEXT,
      });
      expect(await there.once.peek(key)).toMatchObject({ state: 'done', attempt: 1 });
      expect(await rejection(there.once(key, () => 1, { fingerprint: 'u' }))).toMatchObject({
        code: 'EONCEMISMATCH',
      });
      expect(await there.once.forget(key)).toBe(true);
      expect(await here.once.peek(key)).toBeNull();
      expect(await there.once(key, () => 2, options)).toBe(2);
    });

    test('who waits in another session hears of the end, and of a failure runs itself', async ({ bench }) => {
      if (bench.isQuorum) return;
      const [here, there] = await Promise.all([bench.session(), bench.session()]);
      const key = keyOf(bench, here);
      const { opened, open } = gate();
      const failing = rejection(
        here.once(key, () => opened.then(() => Promise.reject(new Error('no'))), { waitMs: WAIT_MS }),
      );
      await waitFor(async () => (await there.once.peek(key))?.state === 'running', { what: 'a run' });
      const waiting = there.once(key, ({ attempt }) => attempt, { waitMs: WAIT_MS });
      const [shown] = await listed(there, { prefix: key });
      expect(shown).toMatchObject({ name: key, kind: 'once', owner: expect.stringContaining(here.session) });
      const waits = async (): Promise<boolean> => {
        const [run] = await listed(here, { prefix: key });
        return run !== undefined && 'waiters' in run && run.waiters === 1 && run.guests === 0;
      };
      await waitFor(waits, { what: 'one that waits, and is no guest' });
      open();
      expect(await failing).toMatchObject({ message: 'no' });
      expect(await waiting).toBe(2);
      expect(await here.once(key, () => 3, { waitMs: WAIT_MS })).toBe(2);
    });
  });
}
