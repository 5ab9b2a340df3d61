/** A hold that a message has brought: what it rests on until its lease is stated, and when the server is asked first. */
import { describe, expect, test } from 'vitest';
import type { FencedLease } from '../../../src/locking/lease.ts';
import { Session } from '../../../src/locking/session.ts';
import { type AcquireOptions, resolveAcquireOptions } from '../../../src/options/acquire-options.ts';
import type { LocksOptions } from '../../../src/options/options.ts';
import { answers, hangs } from '../support/scripted-client.ts';
import { heldInLine, MAILBOX, protocolWith, ScriptedTopology } from '../support/scripted-topology.ts';
import { CountedRandom, Stage, type StageProcess } from '../support/stage.ts';

const CLAIM_MS = 1_000;
const DRIFT_MS = 12;

interface Scene {
  readonly stage: Stage;
  readonly owner: FencedLease;
  readonly process: StageProcess;
  readonly waits: readonly Promise<FencedLease>[];
}

/** Somebody owns the lock; callers of another process wait for it in the line, and have asked at the time 0. */
async function setup(options: LocksOptions = {}, wanted: AcquireOptions = {}, callers = 1): Promise<Scene> {
  const stage = new Stage();
  const owner = await stage.process().lock('a').acquire({ leaseMs: 60_000 });
  const process = stage.process({ random: new CountedRandom(() => 0), ...options });
  const waits = Array.from({ length: callers }, () => process.lock('a').acquire(wanted));
  for (const wait of waits) wait.catch(() => {});
  await stage.clock.settle();
  process.client.calls.length = 0;
  return { stage, owner, process, waits };
}

/** The same, after `waitedMs` and with the lock granted by message. */
async function claimed(waitedMs: number, ...args: Parameters<typeof setup>) {
  const scene = await setup(...args);
  await scene.stage.clock.advance(waitedMs);
  await scene.owner.release();
  return { ...scene, lease: (await scene.waits[0]) as FencedLease };
}

const scripts = ({ client }: StageProcess): string[] => client.calls.map(({ script }) => script);

describe('a hold by claim', () => {
  test('ends with the claim, counted from the ask, and not with the lease', async () => {
    const { lease, process, stage } = await claimed(100);
    expect(lease.remainingMs).toBe(CLAIM_MS - DRIFT_MS - 100);
    expect(lease.remainingMs).toBeLessThan(stage.server.ttlMs('a'));
    expect(scripts(process)).toEqual([]);
  });

  test('gets its full lease after 20 ms', async () => {
    const { stage, lease, process } = await claimed(100);
    await stage.clock.advance(19);
    expect(scripts(process)).toEqual([]);
    await stage.clock.advance(1);
    expect(scripts(process)).toEqual(['lock.renew']);
    expect([lease.remainingMs, stage.server.ttlMs('a')]).toEqual([30_000 - 302, 30_000]);
  });

  test('costs no renewal when it is released before that', async () => {
    const { stage, lease, process } = await claimed(100);
    await stage.clock.advance(19);
    expect(await lease.release()).toBe(true);
    await stage.clock.advance(60_000);
    expect(scripts(process)).toEqual(['lock.release']);
  });

  test('gets its full lease at once when more callers of its process wait', async () => {
    const { stage, process } = await claimed(100, {}, {}, 2);
    await stage.clock.advance(0);
    expect(scripts(process)).toEqual(['lock.renew']);
  });

  test('is lost at the end of the claim when stating the lease gets no answer, and before the server lets go', async () => {
    const { stage, lease, process } = await claimed(100);
    process.client.from('lock.renew', hangs());
    const { signal } = lease;
    await stage.clock.advance(CLAIM_MS - DRIFT_MS - 100 - 1);
    expect([lease.isHeld, signal.aborted]).toEqual([true, false]);
    await stage.clock.advance(1);
    expect([lease.isHeld, stage.server.ttlMs('a') > 0]).toEqual([false, true]);
    await stage.clock.advance(1);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({
      code: 'ELOCKLOST',
      reason: 'expired',
      message: expect.stringContaining(`before the end of its claim of ${CLAIM_MS} ms (claimMs)`),
    });
  });

  test('is lost at once when the server says that it is gone', async () => {
    const { stage, lease } = await claimed(100);
    stage.server.delete('a');
    const { signal } = lease;
    await stage.clock.advance(20);
    expect(signal.reason).toMatchObject({ code: 'ELOCKLOST', reason: 'gone' });
  });

  test('of a short lease ends with that lease', async () => {
    const { lease } = await claimed(20, {}, { leaseMs: 200 });
    expect(lease.remainingMs).toBe(200 - 4 - 20);
  });

  test.each([
    ['is handed over with a third of the claim left', 0, []],
    ['is released with less, though that is far more than nothing', 1, ['lock.release']],
  ])('%s', async (_, moreMs, sent) => {
    const { stage, lease, process, waits } = await claimed(100, { handoverMs: 60_000 }, {}, 2);
    // The lease cannot be stated: the claim is all there is.
    process.client.from('lock.renew', hangs());
    const thirdMs = Math.ceil(CLAIM_MS / 3);
    await stage.clock.advance(CLAIM_MS - DRIFT_MS - 100 - thirdMs + moreMs);
    process.client.calls.length = 0;
    await lease.release();
    expect(scripts(process).filter((script) => script === 'lock.release')).toEqual(sent);
    expect((await stage.until(waits[1] as Promise<FencedLease>)).isHeld).toBe(true);
  });
});

describe('the server is asked before anybody is served', () => {
  const isConfirmed = async (waitedMs: number, options: LocksOptions = {}, wanted: AcquireOptions = {}) => {
    const { lease, process } = await claimed(waitedMs, options, wanted);
    expect(lease.isHeld).toBe(true);
    return scripts(process).includes('lock.acquire');
  };

  test('when less than half of the claim is left', async () => {
    expect(await isConfirmed(CLAIM_MS / 2 - DRIFT_MS)).toBe(false);
    expect(await isConfirmed(CLAIM_MS / 2 - DRIFT_MS + 1)).toBe(true);
  });

  test('when the lease is fixed', async () => {
    expect(await isConfirmed(0, {}, { renew: false })).toBe(true);
  });

  test('when the option says that no claim is enough', async () => {
    expect(await isConfirmed(0, { claimMs: 0 })).toBe(true);
  });

  test.each([
    ['replicas must confirm', { count: 1, timeoutMs: 100 }, 3],
    ['no replicas must', null, 2],
  ])('when %s', async (_, replicas, asks) => {
    const topology = new ScriptedTopology();
    const { clock, timers, options } = topology;
    Object.assign(options, { replicas });
    topology.mailbox = MAILBOX;
    topology.answers.push(heldInLine({ place: 0, tickets: 0 }), heldInLine());
    const session = new Session({ id: 's', topology, timers, options, record: null });
    const wanted = resolveAcquireOptions({}, options, false);
    const entered = session.entrance(protocolWith({})).enter(wanted, clock.monotonicMs());
    await clock.settle();
    topology.channels.publish(MAILBOX.channel, `g ${topology.asked.at(-1)?.ticket?.split(' ')[0]} 0 0`);
    expect([(await entered)?.isHeld, topology.asked.length]).toEqual([true, asks]);
    await session.destroy();
  });

  test('and then the hold has its full lease, and all the fences that the message told', async () => {
    const { lease, stage } = await claimed(600);
    expect(lease.remainingMs).toBe(30_000 - 302);
    expect(stage.server.grants.at(-1)?.firstFence).toBe(lease.fence);
  });
});

describe('a grant that comes while an ask is under way', () => {
  test('is used after the answer to that ask, without another', async () => {
    const { stage, owner, process, waits } = await setup();
    process.client.next('lock.acquire', { effectMs: 0, answerMs: 30 });
    await stage.clock.advance(1_010);
    await owner.release();
    await stage.clock.advance(19);
    expect(scripts(process)).toEqual(['lock.acquire']);
    const lease = await stage.until(waits[0] as Promise<FencedLease>);
    expect(stage.clock.monotonicMs() - 1_000).toBe(1_030);
    expect([scripts(process), lease.remainingMs]).toEqual([['lock.acquire'], CLAIM_MS - DRIFT_MS - 30]);
  });

  test('is not used if that ask itself brings the lock', async () => {
    const { stage, owner, process, waits } = await setup();
    process.client.next('lock.acquire', { effectMs: 20, answerMs: 30 });
    await stage.clock.advance(1_010);
    await owner.release();
    const lease = await stage.until(waits[0] as Promise<FencedLease>);
    expect([scripts(process), lease.remainingMs]).toEqual([['lock.acquire'], 30_000 - 302 - 30]);
    // The answer names the last fence of the block that was granted.
    expect(lease.fence).toBe((stage.server.grants.at(-1)?.firstFence ?? 0) + 64);
  });

  test('that fails is used all the same', async () => {
    const { stage, owner, process, waits } = await setup();
    process.client.next('lock.acquire', hangs());
    await stage.clock.advance(1_010);
    await owner.release();
    const lease = await stage.until(waits[0] as Promise<FencedLease>, 3_000);
    expect(lease.isHeld).toBe(true);
  });

  test('whose callers have left meanwhile is given back', async () => {
    const controller = new AbortController();
    const { stage, owner, process } = await setup({}, { signal: controller.signal });
    process.client.next('lock.acquire', answers(30));
    await stage.clock.advance(1_001);
    await owner.release();
    controller.abort();
    await stage.clock.advance(100);
    expect([stage.server.keys, stage.server.line('a')]).toEqual([[], []]);
    expect(process.openReleases).toBe(0);
  });
});

describe('a claim whose caller leaves while it is being served', () => {
  test.each(Array.from({ length: 25 }, (_, turns) => turns))(
    'is no fixed lease for the next caller before that is stated, %d turns later',
    async (turns) => {
      const stage = new Stage();
      const owner = await stage.process().lock('a').acquire({ leaseMs: 60_000 });
      const process = stage.process();
      const controller = new AbortController();
      const first = process.lock('a').acquire({ signal: controller.signal });
      const left = first.then(
        (lease) => lease.release(),
        () => {},
      );
      const second = process.lock('a').acquire({ renew: false, leaseMs: 30_000 });
      await stage.clock.settle();
      // Not waited for: the message is heard inside of this call.
      void owner.release();
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      controller.abort();
      await left;
      const lease = await stage.until(second);
      expect(lease.remainingMs).toBeGreaterThan(29_000);
      await stage.clock.advance(25_000);
      expect(lease.isHeld).toBe(true);
    },
  );
});
