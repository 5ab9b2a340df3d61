import { expect, test } from 'vitest';
import { rejection } from '../support/rejection.ts';
import { answers, fails, hangs, losesAnswer, refuses, takesEffectLate } from './support/scripted-client.ts';
import { Stage } from './support/stage.ts';

test('an abort listener is in no scope but its own', async () => {
  const stage = new Stage();
  const p = stage.process();
  const x = await stage.until(p.lock('x').acquire({ leaseMs: 1_000, renew: false }));
  let inBody = 0;
  let worst = 0;
  const section = async () => {
    inBody += 1;
    worst = Math.max(worst, inBody);
    await stage.clock.advance(0);
    inBody -= 1;
  };
  let entered: Promise<unknown> = Promise.resolve();
  x.signal.addEventListener('abort', () => {
    entered = p.lock('y').using(section);
  });
  // Another flow of the same process, which has nothing to do with x, holds y when x runs out.
  const body = p.lock('y').using(async () => {
    inBody += 1;
    worst = Math.max(worst, inBody);
    // Any call of ours inside the body may arm the one timer in this async context.
    await p.lock('z').tryAcquire({ leaseMs: 900, renew: false });
    await new Promise<void>((resolve) => {
      stage.clock.startTimer(2_000, resolve);
    });
    inBody -= 1;
  });
  await stage.until(body);
  await stage.until(entered);
  expect(worst).toBe(1);
});

test('forceRelease/close inside a body does not lend its scope to listeners', async () => {
  const stage = new Stage();
  const p = stage.process();
  const x = await stage.until(p.lock('x').acquire({ leaseMs: 30_000 }));
  let at = 0;
  let entered: Promise<unknown> = Promise.resolve();
  x.signal.addEventListener('abort', () => {
    entered = p.lock('y').using(async () => {
      at = stage.clock.monotonicMs();
    });
  });
  let endedAt = 0;
  await stage.until(
    p.lock('y').using(async () => {
      for (const hold of p.session.holdsOf('x')) hold.lose('revoked'); // what forceRelease does
      await new Promise<void>((resolve) => {
        stage.clock.startTimer(500, resolve);
      });
      endedAt = stage.clock.monotonicMs();
    }),
  );
  await stage.until(entered);
  expect(at).toBeGreaterThanOrEqual(endedAt);
});

test('a re-entry that gives up after its owner has released leaves no hold behind', async () => {
  const stage = new Stage();
  const p = stage.process({ outageMs: 1_000 });
  const root = await stage.until(p.lock('a').acquire({ leaseMs: 30_000 }));
  p.client.from('lock.recount', refuses());
  const reentry = rejection(p.lock('a').acquire({ within: root, waitMs: 300 }));
  await stage.clock.settle();
  await stage.until(root.release());
  await stage.until(reentry);
  p.client.heal();
  await stage.clock.advance(1_000);
  const started = stage.clock.monotonicMs();
  await stage.until(p.lock('a').acquire());
  expect(stage.clock.monotonicMs() - started).toBeLessThan(5_000);
});

test('a clean-up that overtakes its acquire is repeated until the acquire cannot be granted any more', async () => {
  const stage = new Stage();
  const p = stage.process();
  await (await stage.until(p.lock('warm').acquire())).release();
  p.client.next('lock.acquire', takesEffectLate(500, 0));
  const abort = new AbortController();
  const gone = rejection(p.lock('a').acquire({ signal: abort.signal }));
  abort.abort();
  await gone;
  await stage.clock.advance(5_000);
  expect(stage.server.owner('a')).toBe(null);
});

test('an acquire that was repeated, granted and released does not come back as an orphan', async () => {
  const stage = new Stage();
  const p = stage.process();
  await (await stage.until(p.lock('warm').acquire())).release();
  p.client.next('lock.acquire', takesEffectLate(500, 0));
  const lease = await stage.until(p.lock('a').acquire());
  expect(await stage.until(lease.release())).toBe(true);
  await stage.clock.advance(5_000);
  expect(stage.server.owner('a')).toBe(null);
});

test('a signal that aborts while a re-entry goes back to the front door is heard', async () => {
  const stage = new Stage();
  const p = stage.process();
  const root = await stage.until(p.lock('a').acquire());
  const child = await stage.until(p.lock('a').acquire({ within: root }));
  const abort = new AbortController();
  let outcome = 'pending';
  const sibling = p.lock('a').acquire({ within: root, signal: abort.signal });
  sibling.then(
    (lease) => {
      outcome = `granted ${lease.isHeld}`;
    },
    (error) => {
      outcome = error.name;
    },
  );
  await stage.clock.settle();
  void root.release(); // its waiting re-entries go to the front door
  abort.abort();
  await stage.clock.advance(1_000);
  await stage.until(child.release());
  await stage.clock.advance(1_000);
  expect(outcome).not.toMatch(/pending|granted/);
});

test('a try whose answers are lost is repeated at a pace', async () => {
  const stage = new Stage();
  const p = stage.process();
  await (await stage.until(p.lock('warm').acquire())).release();
  p.client.from('lock.acquire', losesAnswer(1)); // cut 1 ms after it was sent, each time
  const before = p.client.sent('lock.acquire').length;
  await stage.until(rejection(p.lock('a').tryAcquire()));
  const n = p.client.sent('lock.acquire').length - before;
  expect(n).toBeLessThan(20);
});

test('releasing at exit leaves no deadline behind that holds the process', async () => {
  const stage = new Stage();
  const p = stage.process();
  await stage.until(p.lock('a').acquire());
  await stage.until(p.session.releaseAll());
  await stage.clock.settle();
  expect(stage.clock.refdTimers).toBe(0);
});

test('a lease of another Locks is refused as within', async () => {
  const stage = new Stage();
  const other = new Stage(); // another server
  const p = stage.process();
  const q = other.process();
  const lease = await stage.until(p.lock('a').acquire());
  const error = (await rejection(q.lock('a').acquire({ within: lease }))) as {
    code?: string;
    message: string;
  };
  expect(error.code).toBe('ELOCKCONFIG');
  expect(lease.isHeld).toBe(true);
});

test('a re-entry released just before its owner says true', async () => {
  const stage = new Stage();
  const p = stage.process();
  const root = await stage.until(p.lock('a').acquire({ leaseMs: 30_000 }));
  const child = await stage.until(p.lock('a').acquire({ within: root }));
  p.client.next('lock.renew', answers(50));
  const extending = root.extend(30_000);
  await stage.clock.settle();
  const released = child.release();
  const rootReleased = root.release();
  const results = await stage.until(Promise.all([released, rootReleased, rejection(extending)]));
  expect(results[0]).toBe(true);
});
void fails;
void hangs;
