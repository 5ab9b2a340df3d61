import { expect, test } from 'vitest';
import { rejection } from '../support/rejection.ts';
import { answers, hangs } from './support/scripted-client.ts';
import { Stage } from './support/stage.ts';

test('a try right after the server clock was stepped forward is not refused', async () => {
  const stage = new Stage();
  const p = stage.process();
  await (await stage.until(p.lock('warm').acquire())).release();
  stage.server.jump(10_000);
  const got = await stage.until(
    p
      .lock('a')
      .tryAcquire()
      .catch((e: { code: string }) => e.code),
  );
  expect(typeof got).not.toBe('string');
});

test('an entrance in use stays in the map when an older hold ends', async () => {
  const stage = new Stage();
  const p = stage.process();
  const one = await stage.until(p.lock('a').acquire());
  p.client.next('lock.release', answers(1_500));
  p.client.next('lock.acquire', hangs());
  const released = one.release();
  await stage.clock.settle();
  await stage.until(rejection(p.lock('a').acquire({ waitMs: 10 })));
  const two = await stage.until(p.lock('a').acquire());
  await stage.until(released);
  await stage.clock.advance(100);
  expect(p.session.holdsOf('a').map(({ holder }) => holder)).toEqual([stage.server.owner('a')]);
  void two;
});

test('close with an acquire in flight leaves nothing', async () => {
  const stage = new Stage();
  const p = stage.process();
  await (await stage.until(p.lock('warm').acquire())).release();
  p.client.next('lock.acquire', answers(100));
  const f = rejection(p.lock('a').acquire());
  await stage.clock.settle();
  await stage.until(p.session.close(0));
  await f;
  await stage.clock.advance(3_000);
  expect(stage.server.owner('a')).toBe(null);
});

test('close with an acquire whose answer is lost leaves nothing', async () => {
  const stage = new Stage();
  const p = stage.process();
  await (await stage.until(p.lock('warm').acquire())).release();
  p.client.next('lock.acquire', { effectMs: 10, answerMs: null });
  const f = rejection(p.lock('a').acquire());
  await stage.clock.settle();
  await stage.until(p.session.close(0));
  await f;
  await stage.clock.advance(3_000);
  expect(stage.server.owner('a')).toBe(null);
});

test('close with the release under way of a hold answers', async () => {
  const stage = new Stage();
  const p = stage.process();
  const l = await stage.until(p.lock('a').acquire());
  p.client.next('lock.release', hangs());
  const r = rejection(l.release());
  await stage.until(p.session.close(0));
  expect(await r).toMatchObject({ code: 'ELOCKUNKNOWN' });
});

test('destroy while a re-entry backs off settles the re-entry', async () => {
  const stage = new Stage();
  const p = stage.process();
  const l = await stage.until(p.lock('a').acquire());
  p.client.from('lock.recount', hangs());
  const e = rejection(p.lock('a').acquire({ within: l }));
  await stage.clock.advance(2_005);
  await stage.until(p.session.destroy());
  expect(await stage.until(e)).toMatchObject({ code: 'ELOCKLOST', reason: 'closed' });
});

test('a lease that is released because another one was closed leaves its lock usable', async () => {
  const stage = new Stage();
  const p = stage.process();
  const a = await stage.until(p.lock('a').acquire());
  const b = await stage.until(p.mutex('b').acquire());
  const second = p.mutex('b').acquire();
  await stage.clock.settle();
  // Hands it over to the one who waits, in the midst of the closing.
  a.signal.addEventListener('abort', () => void b.release());
  await p.session.releaseAll(); // what an event loop that has run dry does
  await stage.clock.advance(10);
  expect((await second).signal.aborted).toBe(true);
  await stage.clock.advance(30_000);
  expect(await stage.until(p.mutex('b').tryAcquire())).not.toBeNull();
});
