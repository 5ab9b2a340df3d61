import { expect, test } from 'vitest';
import { rejection } from '../support/rejection.ts';
import { answers, hangs, takesEffectLate } from './support/scripted-client.ts';
import { Stage } from './support/stage.ts';

test('a recount answered after a hand-over to a longer lease states no more than was sent', async () => {
  const stage = new Stage();
  const p = stage.process({ handoverMs: 10_000, leaseMs: 1_000 });
  const q = stage.process();
  stage.server.occupy('a', 100);
  const first = p.lock('a').acquire({ leaseMs: 1_000 });
  const second = p.lock('a').acquire({ leaseMs: 60_000 });
  const root = await stage.until(first);
  const child = await stage.until(p.lock('a').acquire({ within: root }));
  p.client.next('lock.recount', answers(20));
  p.client.from('lock.renew', hangs()); // an outage from here on
  void root.release(); // states count 1, lease 1,000; answered in 20 ms
  await child.release(); // hands over to the one with 60,000
  const lease = await second;
  await stage.clock.advance(1_500);
  const other = await stage.until(q.lock('a').acquire());
  expect(lease.isHeld && other.isHeld).toBe(false);
});

test('an acquire that arrives twice does not shorten the lease', async () => {
  const stage = new Stage();
  const p = stage.process();
  const q = stage.process();
  await (await stage.until(p.lock('warm').acquire())).release();
  // The connection is cut, the request arrives 300 ms later.
  p.client.next('lock.acquire', takesEffectLate(300));
  const abort = new AbortController();
  const gone = rejection(p.lock('a').acquire({ leaseMs: 400, signal: abort.signal }));
  const kept = p.lock('a').acquire({ leaseMs: 30_000 });
  abort.abort();
  await gone;
  const lease = await stage.until(kept);
  await stage.clock.advance(1_000);
  const other = await stage.until(q.lock('a').tryAcquire());
  expect(lease.isHeld && other?.isHeld === true).toBe(false);
});

test('an acquire of a mutex that arrives twice does not shorten the lease', async () => {
  const stage = new Stage();
  const p = stage.process();
  const q = stage.process();
  await (await stage.until(p.mutex('warm').acquire())).release();
  p.client.next('mutex.acquire', takesEffectLate(300));
  const abort = new AbortController();
  const gone = rejection(p.mutex('a').acquire({ leaseMs: 400, signal: abort.signal }));
  const kept = p.mutex('a').acquire({ leaseMs: 30_000 });
  abort.abort();
  await gone;
  const lease = await stage.until(kept);
  await stage.clock.advance(1_000);
  const other = await stage.until(q.mutex('a').tryAcquire());
  expect(lease.isHeld && other?.isHeld === true).toBe(false);
});

test('an extension that arrives after a longer one was stated does not leave the deadline too late', async () => {
  const stage = new Stage();
  const p = stage.process();
  const q = stage.process();
  const lease = await stage.until(p.lock('a').acquire({ leaseMs: 30_000 }));
  p.client.next('lock.renew', takesEffectLate(300));
  const failed = rejection(lease.extend(500));
  await stage.until(failed);
  await stage.until(lease.extend(30_000)); // on the next connection
  await stage.clock.advance(1_500);
  const other = await stage.until(q.lock('a').tryAcquire());
  expect(lease.isHeld && other?.isHeld === true).toBe(false);
});

test('an extension that arrives after an ordinary renewal does not leave the deadline too late', async () => {
  const stage = new Stage();
  const p = stage.process();
  const q = stage.process();
  const lease = await stage.until(p.lock('a').acquire({ leaseMs: 30_000 }));
  p.client.next('lock.renew', takesEffectLate(1_500));
  const failed = rejection(lease.extend(3_000));
  await stage.until(failed);
  await stage.clock.advance(6_000);
  expect(lease.remainingMs).toBeLessThanOrEqual(Math.max(0, stage.server.ttlMs('a')));
  void q;
});

test('after a sleep of the machine the signal aborts when the rest of the lease is over', async () => {
  const stage = new Stage();
  const p = stage.process();
  const lease = await stage.until(p.lock('a').acquire({ leaseMs: 30_000, renew: false }));
  const { signal } = lease;
  await stage.clock.advance(5_000);
  stage.clock.suspend(20_000);
  await stage.clock.advance(6_000); // 31 s of wall time since the acquire
  let lateMs = 0;
  while (!signal.aborted) {
    await stage.clock.advance(100);
    lateMs += 100;
  }
  expect(lateMs).toBe(0);
});

test('a renewed lease is renewed at once after a sleep that left little of it', async () => {
  const stage = new Stage();
  const p = stage.process();
  const lease = await stage.until(p.lock('a').acquire({ leaseMs: 30_000 }));
  await stage.clock.advance(3_000);
  stage.clock.suspend(22_000); // 5 s left
  await stage.clock.advance(6_000);
  expect(lease.isHeld).toBe(true);
});
