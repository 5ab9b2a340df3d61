/** Safety rule 3: a renewal has four outcomes, and only two of them say anything. */
import { describe, expect, test } from 'vitest';
import { OUTCOMES } from '../../src/scripts/outcome.ts';
import { rejection } from '../support/rejection.ts';
import { answers, type Fate, fails, hangs, losesAnswer, refuses, says } from './support/scripted-client.ts';
import { Stage, type StageProcess } from './support/stage.ts';

const LEASE_MS = 3_000;
const VALID_MS = LEASE_MS - 32;

/** What may become of a renewal without saying that the lock is ours or is not. */
const UNCLEAR: readonly (readonly [name: string, fate: Fate])[] = [
  ['that hangs', hangs()],
  ['whose answer is lost', losesAnswer()],
  ['whose connection is cut', losesAnswer(3)],
  ['that cannot be sent', refuses()],
  ['that meets a server that is loading', fails('LOADING Redis is loading the dataset in memory')],
  ['that meets an error nobody expects', fails('ERR something')],
  ['that the server refuses for this key alone', says([OUTCOMES.FAILED])],
  ['that is answered with nonsense', says(['what'])],
  ['that is answered with words and no outcome', says(['stuck since noon'])],
];

function setup(): { stage: Stage; process: StageProcess } {
  const stage = new Stage();
  return { stage, process: stage.process() };
}

describe('rule 3: a renewal', () => {
  test('that is answered keeps the lease for as long as it is held', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: LEASE_MS });
    await stage.clock.advance(20 * LEASE_MS);
    expect(lease.isHeld).toBe(true);
    expect(stage.server.owner('a')).toBe(`${process.session.id}:1`);
    const renewals = process.client.sent('lock.renew').length;
    // Three a lease, and up to a tenth more often.
    expect(renewals).toBeGreaterThanOrEqual(59);
    expect(renewals).toBeLessThanOrEqual(70);
  });

  test.each(UNCLEAR)(
    '%s does not move the deadline, and is sent again while time remains',
    async (_, fate) => {
      const { stage, process } = setup();
      const lease = await process.lock('a').acquire({ leaseMs: LEASE_MS });
      const startedMs = stage.clock.monotonicMs();
      process.client.from('lock.renew', fate);
      for (let passedMs = 0; passedMs < VALID_MS - 10; passedMs += 10) {
        expect(lease.remainingMs).toBeCloseTo(VALID_MS - passedMs, 6);
        await stage.clock.advance(10);
      }
      const { signal } = lease;
      expect(signal.aborted).toBe(false);
      await stage.clock.advance(VALID_MS + 1 - (stage.clock.monotonicMs() - startedMs));
      expect([lease.isHeld, signal.aborted]).toEqual([false, true]);
      expect(signal.reason).toMatchObject({ reason: 'expired' });
      expect(process.client.sent('lock.renew').length).toBeGreaterThan(2);
    },
  );

  test.each(UNCLEAR)('%s loses nothing when the next one is answered', async (_, fate) => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: LEASE_MS });
    process.client.next('lock.renew', fate);
    await stage.clock.advance(10 * LEASE_MS);
    expect([lease.isHeld, lease.signal.aborted]).toEqual([true, false]);
  });

  test('that the server answers with "not yours" tells the owner at once, and sends no release', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: LEASE_MS });
    const { signal } = lease;
    stage.server.delete('a');
    stage.server.occupy('a', 60_000);
    await stage.clock.advance(LEASE_MS / 3);
    expect([lease.isHeld, lease.remainingMs, signal.aborted]).toEqual([false, 0, true]);
    expect(signal.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'gone', lock: 'a', fence: lease.fence });
    expect(await lease.release()).toBe(false);
    await stage.clock.advance(LEASE_MS);
    expect(process.client.sent('lock.release')).toEqual([]);
    expect(stage.server.owner('a')).toBe('stranger:1');
  });

  test.each([['lock'], ['mutex']] as const)(
    'of a %s that the server answers with the words of an operator tells the owner at once why',
    async (kind) => {
      const { stage, process } = setup();
      const [first, second] = [
        await process[kind]('a').acquire({ leaseMs: LEASE_MS }),
        await process[kind]('b').acquire({ leaseMs: LEASE_MS }),
      ];
      const words = 'REVOKED stuck "since"\u0000 noon';
      process.client.next(`${kind}.renew`, says([words, OUTCOMES.RENEWED]));
      await stage.clock.advance(LEASE_MS / 3);
      expect([first.isHeld, second.isHeld]).toEqual([false, true]);
      expect(first.signal.reason).toMatchObject({
        reason: 'revoked',
        message: expect.stringContaining('it was released by force: "stuck \\"since\\"\\u{0} noon"'),
      });
      process.client.next(`${kind}.renew`, says(['REVOKED another']));
      const told = await rejection(second.extend(LEASE_MS));
      expect(told).toMatchObject({ reason: 'revoked', message: expect.stringContaining('"another"') });
      // The server has said that the holds are gone: nothing is released.
      await stage.clock.advance(LEASE_MS);
      expect(process.client.sent(`${kind}.release`)).toEqual([]);
    },
  );

  test('that the server answers without words has none, and is not asked about again', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: LEASE_MS });
    process.client.next('lock.renew', says([OUTCOMES.GONE]));
    await stage.clock.advance(LEASE_MS / 3);
    expect(lease.signal.reason).toMatchObject({ reason: 'gone' });
    await stage.clock.advance(LEASE_MS);
    expect(process.client.sent('lock.renew')).toHaveLength(1);
  });

  test('never creates the lock anew', async () => {
    const { stage, process } = setup();
    await process.lock('a').acquire({ leaseMs: LEASE_MS });
    stage.server.delete('a');
    await stage.clock.advance(10 * LEASE_MS);
    expect(stage.server.keys).toEqual([]);
  });

  test('that finds another type under the key has lost it', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: LEASE_MS });
    process.client.next(
      'lock.renew',
      fails('WRONGTYPE Operation against a key holding the wrong kind of value'),
    );
    await stage.clock.advance(LEASE_MS / 3);
    expect(lease.signal.reason).toMatchObject({ reason: 'gone' });
  });

  test('that is answered after the deadline does not revive the lease', async () => {
    const { stage, process } = setup();
    const { client } = process;
    const lease = await process.mutex('a').acquire({ leaseMs: LEASE_MS });
    const { signal } = lease;
    client.next('mutex.renew', { effectMs: 0, answerMs: 5 });
    await stage.clock.advance(968);
    expect(client.sent('mutex.renew')).toHaveLength(1);
    // The event loop is blocked past the old deadline, not past the one that the renewal would set. When it turns,
    // the answer is there before our timer.
    stage.clock.advanceSync(2_100);
    expect(stage.server.owner('a')).not.toBe(null);
    await stage.clock.advance(0);
    expect([lease.isHeld, signal.aborted, lease.remainingMs]).toEqual([false, true, 0]);
    await stage.clock.advance(10 * LEASE_MS);
    expect(client.sent('mutex.renew')).toHaveLength(1);
    // What the late renewal kept on the server is given back, not left to its lease.
    expect(client.sent('mutex.release')).toHaveLength(1);
  });

  test('leaves half of what remains for another one: its limit shrinks with the time left', async () => {
    const { stage, process } = setup();
    await process.lock('a').acquire({ leaseMs: LEASE_MS });
    process.client.from('lock.renew', hangs());
    await stage.clock.advance(LEASE_MS);
    const limits = process.client.sent('lock.renew').map(({ timeoutMs }) => timeoutMs);
    expect(limits[0]).toBeCloseTo((VALID_MS * 2) / 3 / 2, -2);
    expect(limits.length).toBeGreaterThan(3);
    expect(limits.toSorted((a, b) => b - a)).toEqual(limits);
    expect(limits.at(-1)).toBeLessThan((limits[0] ?? 0) / 2);
  });

  test('is one at a time for a hold: what states its lease next waits for the answer', async () => {
    const { stage, process } = setup();
    const { client } = process;
    const lease = await process.lock('a').acquire({ leaseMs: LEASE_MS });
    client.next('lock.renew', answers(500));
    await stage.clock.advance(LEASE_MS / 3);
    expect(client.sent('lock.renew')).toHaveLength(1);
    const extended = lease.extend(9_000);
    await stage.clock.advance(
      499 - (stage.clock.monotonicMs() - (client.sent('lock.renew')[0]?.sentMs ?? 0)),
    );
    expect(client.sent('lock.renew')).toHaveLength(1);
    await stage.until(extended);
    expect(client.sent('lock.renew')).toHaveLength(2);
    expect(lease.remainingMs).toBeCloseTo(9_000 - 92, 6);
  });
});

describe('rule 3: an extension', () => {
  test('that shortens lowers the deadline before it is sent, answer or no answer', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: 30_000 });
    process.client.from('lock.renew', hangs());
    const error = rejection(lease.extend(LEASE_MS));
    expect(lease.remainingMs).toBe(VALID_MS);
    expect(await stage.until(error)).toMatchObject({ code: 'ELOCKUNKNOWN' });
    expect(lease.isHeld).toBe(true);
    await stage.clock.advance(LEASE_MS);
    expect(lease.signal.aborted).toBe(true);
  });

  test('that prolongs moves it only with the answer', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: LEASE_MS });
    process.client.next('lock.renew', answers(100));
    const extended = lease.extend(30_000);
    expect(lease.remainingMs).toBe(VALID_MS);
    await stage.until(extended);
    expect(lease.remainingMs).toBe(30_000 - 302 - 100);
  });

  test.each([
    ['no answer', hangs(), 'ELOCKUNKNOWN'],
    ['no connection', refuses(), 'ELOCKUNAVAILABLE'],
    ['an error', fails('OOM command not allowed'), 'ELOCKUNAVAILABLE'],
  ] as const)('that gets %s says so and for how long it is still held', async (_, fate, code) => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: LEASE_MS });
    process.client.next('lock.renew', fate);
    const error = (await stage.until(rejection(lease.extend(60_000)))) as Error;
    expect(error).toMatchObject({ code, lock: 'a' });
    expect(error.message).toMatch(
      /^lock "a": could not be extended; it is still held for \d+ ms \(scripted: /,
    );
    expect(lease.isHeld).toBe(true);
  });

  test('that finds the lock gone rejects with the loss', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire();
    stage.server.delete('a');
    await expect(lease.extend(5_000)).rejects.toMatchObject({ code: 'ELOCKLOST', reason: 'gone' });
    expect(lease.signal.aborted).toBe(true);
  });

  test('is the length of the renewals that follow', async () => {
    const { stage, process } = setup();
    const lease = await process.lock('a').acquire({ leaseMs: 30_000 });
    await lease.extend(600);
    await stage.clock.advance(6_000);
    const leases = new Set(process.client.sent('lock.renew').map(({ args }) => args[1]));
    expect([...leases]).toEqual(['600']);
    expect(process.client.sent('lock.renew').length).toBeGreaterThan(25);
    expect(lease.isHeld).toBe(true);
  });

  test('of a released lease is a mistake, and sends nothing', async () => {
    const { process } = setup();
    const lease = await process.lock('a').acquire();
    await lease.release();
    await expect(lease.extend(1_000)).rejects.toMatchObject({ code: 'ELOCKNOTHELD' });
    await expect(lease.extend(0)).rejects.toMatchObject({ code: 'ELOCKCONFIG' });
    expect(process.client.sent('lock.renew')).toEqual([]);
  });
});
