/** The stream of changes: who comes back is where a fresh fetch would have put them. */
import { beforeEach, expect, test } from 'vitest';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import type { Row, State, StreamEventName, StreamEvents } from '../src/api/types.ts';
import { StreamHub, type StreamSource } from '../src/http/stream-hub.ts';
import { client, closing, session, TestMonitor } from './support/monitor.ts';

const server = useRedis();

beforeEach(async () => void (await ask(server.port, ['FLUSHALL'])));

interface Heard {
  readonly event: StreamEventName;
  readonly id: string | null;
  readonly data: unknown;
}

function parse(text: string): Heard[] {
  const frames = text.split('\n\n').filter((frame) => frame !== '' && !frame.startsWith(':'));
  return frames.map((frame) => {
    const field = (name: string): string | null =>
      new RegExp(`^${name}: (.*)$`, 'm').exec(frame)?.[1] ?? null;
    return {
      event: field('event') as StreamEventName,
      id: field('id'),
      data: JSON.parse(field('data') ?? 'null'),
    };
  });
}

/** Reads in the background until it is ended. */
class Listener {
  readonly heard: Heard[] = [];
  isOver = false;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(stream: ReadableStream<Uint8Array> | null) {
    if (stream === null) throw new Error('expected a stream, got none');
    this.#reader = stream.getReader();
    void this.#read();
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    for (;;) {
      const { value, done } = await this.#reader.read();
      if (done) break;
      this.heard.push(...parse(decoder.decode(value)));
    }
    this.isOver = true;
  }

  close(): Promise<void> {
    return this.#reader.cancel();
  }

  get lastId(): string | null {
    return this.heard.findLast(({ id }) => id !== null)?.id ?? null;
  }
}

/** What a page has after those events. */
function applied(rows: readonly Row[], heard: readonly Heard[]): Map<string, Row> {
  const page = new Map(rows.map((row) => [row.name, row]));
  for (const { event, data } of heard) {
    if (event !== 'locks') continue;
    const { changed, removed } = data as StreamEvents['locks'];
    for (const row of changed) page.set(row.name, row);
    for (const name of removed) page.delete(name);
  }
  return page;
}

function byName(state: State): Map<string, Row> {
  return new Map(state.locks.map((row) => [row.name, row]));
}

test('a page that was cut off and comes back has what a fresh fetch has', async () => {
  const locks = session(client(server.port));
  const kept = await locks.lock('kept').acquire({ leaseMs: 600_000 });
  const given = await locks.lock('given').acquire({ leaseMs: 600_000 });
  const seen = new TestMonitor({ redis: client(server.port) });
  await Promise.all([seen.untilRow('kept'), seen.untilRow('given')]);
  const first = await seen.state();
  const before = closing(new Listener((await seen.get(`api/v1/stream?from=${first.id}`)).body));
  await waitFor(() => before.heard.some(({ event }) => event === 'alert'));
  expect(before.heard[0]).toMatchObject({ event: 'hello', data: { version: first.version } });
  await before.close();
  const id = before.lastId ?? first.id;
  const page = applied(first.locks, before.heard);
  // Meanwhile one goes, one comes, one comes and goes.
  await given.release();
  await locks.lock('new').acquire({ leaseMs: 600_000 });
  const short = await locks.lock('short').acquire({ leaseMs: 600_000 });
  await Promise.all([seen.untilRow('new'), seen.untilRow('short')]);
  await short.release();
  await waitFor(() => seen.row('given') === undefined && seen.row('short') === undefined);
  const after = closing(new Listener((await seen.get('api/v1/stream', { 'last-event-id': id })).body));
  await waitFor(() => after.heard.some(({ event }) => event === 'alert'));
  expect(after.heard.filter(({ event }) => event === 'reset')).toEqual([]);
  const fresh = await waitFor(async () => {
    const state = await seen.state();
    return after.lastId === state.id ? state : null;
  });
  const caughtUp = applied([...page.values()], after.heard);
  expect([...caughtUp.keys()].sort()).toEqual(['kept', 'new']);
  expect(caughtUp).toEqual(byName(fresh));
  await kept.release();
});

test('an id of another process, of the future or of no form begins with a reset', async () => {
  const seen = new TestMonitor({ redis: client(server.port) });
  const { id } = await seen.state();
  const [epoch] = id.split('-');
  for (const from of ['', 'x', '000000000000-1', `${epoch}-999999`, `${epoch}-1e3`]) {
    const listener = closing(new Listener((await seen.get(`api/v1/stream?from=${from}`)).body));
    await waitFor(() => listener.heard.length >= 2);
    expect(listener.heard.map(({ event }) => event).slice(0, 2), from).toEqual(['hello', 'reset']);
  }
});

function fakeSource(): StreamSource & {
  now: () => number;
  rows: Map<string, Row>;
  change(name: string): void;
  time: number;
} {
  const rows = new Map<string, Row>();
  let changed = new Set<string>();
  const source = {
    version: 'v',
    time: 0,
    now: (): number => source.time,
    rows,
    change: (name: string) => {
      rows.set(name, { name } as Row);
      changed.add(name);
    },
    takeChanged: () => {
      const taken = changed;
      changed = new Set();
      return taken;
    },
    totals: () => ({ held: 0, waiting: 0, late: 0, lost: 0, lookedAt: null }),
    servers: () => ({ at: 0, changed: [], removed: [] }) as unknown as StreamEvents['servers'],
    alerts: () => ({ at: 0, alerts: [] }),
  };
  return source;
}

test('changes are remembered for a minute, and no longer', async () => {
  const source = fakeSource();
  const hub = closing(new StreamHub(source));
  const start = hub.id;
  source.change('a');
  hub.turn();
  const middle = hub.id;
  source.time = 59_000;
  source.change('b');
  hub.turn();
  const known = closing(new Listener(hub.open(start)));
  await waitFor(() => known.heard.length >= 2);
  expect([...applied([], known.heard).keys()].sort()).toEqual(['a', 'b']);
  source.time = 61_000;
  source.change('c');
  hub.turn();
  const old = closing(new Listener(hub.open(start)));
  const young = closing(new Listener(hub.open(middle)));
  await waitFor(() => old.heard.length >= 2 && young.heard.length >= 2);
  expect(old.heard[1]?.event).toBe('reset');
  expect([...applied([], young.heard).keys()].sort()).toEqual(['b', 'c']);
});

test('changes of four megabytes are remembered, and no more', async () => {
  const source = fakeSource();
  const hub = closing(new StreamHub(source));
  const ids: string[] = [];
  // Half a megabyte each: a character counts twice.
  for (let i = 0; i < 10; i += 1) {
    ids.push(hub.id);
    source.change(`${i}:${'x'.repeat(250_000)}`);
    hub.turn();
  }
  const events = async (from: string): Promise<string[]> => {
    const listener = closing(new Listener(hub.open(from)));
    await waitFor(() => listener.heard.length >= 2);
    return listener.heard.slice(0, 2).map(({ event }) => event);
  };
  expect(await events(ids[0] ?? '')).toEqual(['hello', 'reset']);
  expect(await events(ids[9] ?? '')).toEqual(['hello', 'locks']);
});

test('a stream on which nothing happens has a comment every 15 s, so that no proxy cuts it', async () => {
  const source = fakeSource();
  const hub = closing(new StreamHub(source));
  const reader = hub.open('from nowhere').getReader();
  const decoder = new TextDecoder();
  let heard = '';
  const reading = (async (): Promise<void> => {
    for (let next = await reader.read(); !next.done; next = await reader.read())
      heard += decoder.decode(next.value);
  })();
  const comments = (): number => heard.match(/^: alive$/gm)?.length ?? 0;
  source.time = 14_999;
  hub.turn();
  await waitFor(() => heard.includes('event: servers'));
  expect(comments()).toBe(0);
  source.time = 15_000;
  hub.turn();
  await waitFor(() => comments() === 1);
  source.time = 30_000;
  hub.turn();
  await waitFor(() => comments() === 2);
  await reader.cancel();
  await reading;
});

test('a reader that does not read is cut after a megabyte, and the others go on', async () => {
  const source = fakeSource();
  const hub = closing(new StreamHub(source));
  const slow = hub.open(hub.id);
  const quick = closing(new Listener(hub.open(hub.id)));
  expect(hub.clients).toBe(2);
  for (let i = 0; i < 40 && hub.clients > 1; i += 1) {
    for (let n = 0; n < 100; n += 1) source.change(`${i}:${n}:${'x'.repeat(500)}`);
    hub.turn();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(hub.clients).toBe(1);
  expect(quick.isOver).toBe(false);
  const reader = slow.getReader();
  let bytes = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) bytes += next.value.byteLength;
  expect(bytes).toBeLessThan(1024 * 1024 + 100_000);
});

test('a page that comes back to more than it may leave unread begins with a reset, and goes on', async () => {
  const source = fakeSource();
  const hub = closing(new StreamHub(source));
  const start = hub.id;
  for (let n = 0; n < 3_000; n += 1) source.change(`${n}:${'x'.repeat(500)}`);
  hub.turn();
  const back = closing(new Listener(hub.open(start)));
  await waitFor(() => back.heard.length >= 2);
  expect(back.heard.map(({ event }) => event)).toEqual(['hello', 'reset']);
  source.change('next');
  hub.turn();
  await waitFor(() => applied([], back.heard).has('next'));
  expect(back.isOver).toBe(false);
});

test('the sixty-fifth stream is refused', async () => {
  const seen = new TestMonitor({ redis: client(server.port) });
  for (let i = 0; i < 64; i += 1) closing(new Listener((await seen.get('api/v1/stream')).body));
  expect((await seen.get('api/v1/stream')).status).toBe(503);
});
