/** The scripts that keep the state, on a real Redis: what comes twice, and what comes from a leader that was replaced. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useRedis } from '../../../holdfast/test/support/servers/redis-server.ts';
import {
  AlertStore,
  type Decision,
  StaleLeaderError,
  StateConflictError,
} from '../../src/alerts/state/store.ts';
import type { Delivery, Outcome } from '../../src/alerts/state/stored.ts';
import { systemClock } from '../../src/alerts/system-clock.ts';
import { notice } from './support/notices.ts';

const server = useRedis();
let redis: Redis;
let fleets = 0;

beforeAll(() => {
  redis = new Redis(server.url);
});
afterAll(() => redis.quit());

/** A state of its own, with a leader whose fence is 7. */
async function led(): Promise<AlertStore> {
  fleets += 1;
  const store = new AlertStore(redis, `state-${fleets}`, systemClock);
  await store.begin(7, ['ops']);
  return store;
}

function delivery(id: string): Delivery {
  return { id, receiver: 'ops', queuedAtMs: 0, notice: notice({ key: id }) };
}

function pushing(...ids: string[]): Decision {
  const nothing = { alerts: [], drop: [], history: [], endedMutes: [], takenOutage: [] };
  return { ...nothing, incidents: 0, push: ids.map(delivery) };
}

function outcome(id: string): Outcome {
  const rule = 'evicting';
  return {
    receiver: 'ops',
    id,
    state: 'sent',
    atMs: 0,
    tries: 1,
    error: null,
    rule,
    kind: 'firing',
    keys: [],
  };
}

async function queued(store: AlertStore): Promise<string[]> {
  const { outboxes } = await store.peek(['ops']);
  return (outboxes.get('ops') ?? []).map(({ id }) => id);
}

test('a decision that is sent again, because its answer was lost, is made once', async () => {
  const store = await led();
  const first = await store.decide(7, 0, 'token-1', pushing('a'));
  expect((await store.decide(7, 0, 'token-1', pushing('a'))).revision).toBe(first.revision);
  expect(await queued(store)).toEqual(['a']);
});

test('a decision that was made on another state is refused', async () => {
  const store = await led();
  await store.decide(7, 0, 'token-1', pushing('a'));
  await expect(store.decide(7, 0, 'token-2', pushing('b'))).rejects.toBeInstanceOf(StateConflictError);
  expect(await queued(store)).toEqual(['a']);
});

test('a delivery that is settled twice does not take the next one with it', async () => {
  const store = await led();
  await store.decide(7, 0, 'token-1', pushing('a', 'b'));
  await store.settle(7, outcome('a'), null);
  await store.settle(7, outcome('a'), null);
  expect(await queued(store)).toEqual(['b']);
});

test('a delivery in hand is given to nobody else until its time is over', async () => {
  const store = await led();
  await store.decide(7, 0, 'token-1', pushing('a'));
  expect(await store.claim(7, 'ops', 600_000)).toMatchObject({ is: 'claimed', tries: 1 });
  expect(await store.claim(7, 'ops', 600_000)).toMatchObject({ is: 'wait' });
});

test('the history keeps about five thousand events, whichever script writes', async () => {
  const store = await led();
  const kept = () => redis.xlen(store.keys.history);
  const history = Array.from({ length: 5_500 }, (_, at) => ({ kind: 'fired', entry: { at } }));
  await store.decide(7, 0, 'token-1', { ...pushing('a'), history });
  expect(await kept()).toBeGreaterThanOrEqual(5_000);
  expect(await kept()).toBeLessThan(5_200);
  const fill = "for i = 1, 500 do redis.call('XADD', KEYS[1], '*', 'kind', 'fired', 'entry', '{}') end";
  await redis.eval(fill, 1, store.keys.history);
  await store.settle(7, outcome('a'), null);
  expect(await kept()).toBeGreaterThanOrEqual(5_000);
  expect(await kept()).toBeLessThan(5_200);
});

test('a leader that was replaced changes nothing, whatever it tries', async () => {
  const store = await led();
  await store.decide(7, 0, 'token-1', pushing('a'));
  await store.begin(8, ['ops']);
  const tries = [
    () => store.begin(7, ['ops']),
    () => store.decide(7, 1, 'token-2', pushing('b')),
    () => store.claim(7, 'ops', 1_000),
    () => store.settle(7, outcome('a'), null),
  ];
  for (const attempt of tries) await expect(attempt()).rejects.toBeInstanceOf(StaleLeaderError);
  expect(await queued(store)).toEqual(['a']);
});
