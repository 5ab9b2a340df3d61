/**
 * A request to acquire that outlives its connection: a relay between us and the server still carries what was
 * sent before our side of it was cut, and delivers it after the lock has been acquired and released by a second
 * request, or given up. It carries a time after which it must not be granted, but may arrive before that.
 */
import { expect, test } from 'vitest';
import { useLeakCheck } from '../../support/leak-check.ts';
import { useRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { held, rejection, SUBJECTS, type Subject, useBench, warmUp } from './support.ts';

const redis = useRedis();
useLeakCheck(redis);
const bench = useBench();

/** Long against everything that happens here: a key that is gone was removed, not expired. */
const LEASE_MS = 60_000;

/** An acquire whose request is under way, on a connection that is lost by now, and arrives in half a second. */
async function strand(subject: Subject) {
  const inner = await bench.proxy(redis.port);
  const outer = await bench.proxy(inner.port);
  const locks = await bench.session(outer.port, { leaseMs: LEASE_MS, callTimeoutMs: 1_500 });
  const name = bench.name();
  await warmUp(locks, subject, `warm-up:${name}`);
  inner.clearHistory();
  outer.clearHistory();
  inner.delay(500);
  const controller = new AbortController();
  const acquiring = subject.of(locks, name).acquire({ signal: controller.signal });
  await waitFor(() => outer.history.some(subject.acquires), { what: 'the request to be under way' });
  const [request] = outer.history.filter(subject.acquires);
  inner.delay(0);
  outer.cutAll();
  const arrivals = (): number =>
    inner.history.filter(subject.acquires).filter((args) => String(args) === String(request)).length;
  return { name, acquiring, controller, arrivals };
}

const freed = (subject: Subject, name: string): Promise<boolean> =>
  waitFor(async () => (await held(redis.port, subject, name)) === null, {
    what: `the key of a ${subject.kind} to be gone, long before its lease`,
  });

test('a stranded request leaves no key behind after a second one got the lock and released it', async () => {
  const runs = SUBJECTS.map(async (subject) => {
    const { name, acquiring, arrivals } = await strand(subject);
    expect(await (await acquiring).release()).toBe(true);
    await waitFor(() => arrivals() > 0, { what: 'the stranded request to arrive' });
    await freed(subject, name);
  });
  await Promise.all(runs);
});

test('a stranded request leaves no key behind after its caller gave up', async () => {
  const runs = SUBJECTS.map(async (subject) => {
    const { name, acquiring, controller, arrivals } = await strand(subject);
    controller.abort();
    await rejection(acquiring);
    await waitFor(() => arrivals() > 0, { what: 'the stranded request to arrive' });
    await freed(subject, name);
  });
  await Promise.all(runs);
});
