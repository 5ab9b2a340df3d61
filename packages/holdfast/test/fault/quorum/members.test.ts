/** Which servers make a quorum: how many, which not, and what is said about each when they cannot decide. */
import { Redis } from 'ioredis';
import { describe, expect, test, vi } from 'vitest';
import { type Lease, LockError, Locks, LockUnavailableError } from '../../../src/index.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS, LOCK } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import { askAll } from '../../support/servers/raw-redis.ts';
import { startRedis } from '../../support/servers/redis-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import { CONDITION_ARGS, CONDITIONS } from '../server/conditions.ts';
import { QuorumBench, useQuorumBench, useServers } from './support.ts';

const servers = useServers(5, { args: CONDITION_ARGS });
useLeakCheck(servers);
const quorum = useQuorumBench(servers);

function condition(word: string): (typeof CONDITIONS)[number] {
  const found = CONDITIONS.find((one) => one.word === word);
  if (found === undefined) throw new Error(`expected one of the conditions, got ${word}`);
  return found;
}

describe('a quorum', () => {
  test('of one server is allowed', async () => {
    const one = new QuorumBench(servers.slice(0, 1), quorum.bench);
    for (const kind of KINDS) {
      const locks = one.session();
      const others = one.session();
      const name = one.name();
      const lease = await kind.of(locks, name).acquire();
      expect(await kind.of(others, name).tryAcquire()).toBeNull();
      expect(await lease.release()).toBe(true);
      expect(await one.voters(kind, name)).toEqual([]);
    }
  });

  test('of no server is refused', () => {
    expect(() => new Locks([])).toThrow('expected at least one client, got an empty array');
  });

  test('of one client twice is refused at once', () => {
    const client = new Redis({ lazyConnect: true });
    expect(() => new Locks([client, client])).toThrow('expected clients of independent servers');
  });

  test('of one server under two names is refused when they have told who they are', async () => {
    const proxy = await quorum.bench.proxy(quorum.server(0).port);
    const ways = [quorum.server(0), proxy, quorum.server(1)];
    const locks = quorum.session({}, ways);
    const name = quorum.name();
    // Until both have told it, the one that has votes for itself.
    const error = await waitFor(async () => {
      const lease = await locks
        .lock(name)
        .acquire()
        .catch((reason: unknown) => reason);
      if (lease instanceof LockError) return lease;
      return (lease as Lease).release().then(() => null);
    });
    expect(error).toMatchObject({
      code: 'ELOCKCONFIG',
      message: expect.stringContaining('independent servers'),
    });
    expect(error.message).toContain(`${quorum.server(0).port}`);
    expect(error.message).toContain(`${proxy.port}`);
    // A vote that came late is given back when it has come.
    await quorum.untilFree(LOCK, name);
  });

  test('of clients with different prefixes is refused', () => {
    const clients = ['a:', 'b:'].map((keyPrefix) => new Redis({ lazyConnect: true, keyPrefix }));
    const spy = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    expect(() => new Locks(clients)).toThrow('expected clients with one keyPrefix, got "a:" and "b:"');
    spy.mockRestore();
  });

  test('of an even number is warned about, of an odd one not', () => {
    const spy = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const clients = [1, 2, 3, 4].map(() => new Redis({ lazyConnect: true }));
    for (let count = 1; count <= 4; count += 1) new Locks(clients.slice(0, count));
    const codes = spy.mock.calls.map(([text, options]) => [String(text).slice(0, 9), options]);
    spy.mockRestore();
    const options = { type: 'HoldfastWarning', code: 'HOLDFAST_EVEN_QUORUM' };
    expect(codes).toEqual([
      ['2 servers', options],
      ['4 servers', options],
    ]);
  });
});

describe('a majority that cannot decide', () => {
  test('is told server by server: gone, no answer, read-only, out of memory', async () => {
    const locks = await quorum.assembled(LOCK, { nodeTimeoutMs: 1_500, outageMs: 0 });
    const name = quorum.name();
    await quorum.server(0).kill();
    quorum.server(1).freeze();
    await condition('READONLY').begin(quorum.server(2));
    await condition('OOM').begin(quorum.server(3));
    const error = await rejection(locks.lock(name).tryAcquire());
    await condition('READONLY').end(quorum.server(2));
    await condition('OOM').end(quorum.server(3));
    expect(error).toBeInstanceOf(LockUnavailableError);
    const { servers: told } = error as LockUnavailableError;
    const by = (place: number): object | undefined =>
      told.find(({ server }) => server.includes(`${quorum.server(place).port}`));
    expect(told).toHaveLength(4);
    expect(by(0)).toMatchObject({ kind: expect.stringMatching(/unreachable|unknown/) });
    expect(by(1)).toMatchObject({ kind: 'unknown', text: expect.stringContaining('no answer within') });
    expect(by(2)).toMatchObject({ kind: 'reply', text: expect.stringContaining('READONLY') });
    expect(by(3)).toMatchObject({ kind: 'reply', text: expect.stringContaining('OOM') });
    expect(by(4)).toBeUndefined();
    await quorum.untilFree(LOCK, name);
  });

  test('is told as young servers when they have all just started, and as nothing else', async () => {
    const locks = quorum.session({ restartGuardMs: 3_600_000, outageMs: 0 });
    const told = await quorum.objections(() => locks.mutex(quorum.name()).acquire());
    expect(told).toHaveLength(5);
    for (const { kind, text } of told) {
      expect(kind).toBe('guard');
      expect(text).toMatch(/it votes in \d+ ms/);
    }
  });

  test('is never told when a rival has it, however many servers are down', async () => {
    for (const kind of KINDS) {
      const locks = await quorum.assembled(kind);
      const others = await quorum.assembled(kind);
      const name = quorum.name();
      const lease = await kind.of(others, name).acquire();
      await quorum.untilAll(kind, name);
      await quorum.server(4).kill();
      await quorum.server(3).kill();
      expect(await kind.of(locks, name).tryAcquire()).toBeNull();
      const error = await rejection(kind.of(locks, name).acquire({ waitMs: 1_000 }));
      expect(error).toMatchObject({ code: 'ELOCKTIMEOUT' });
      expect(await lease.release()).toBe(true);
      await Promise.all([3, 4].map((i) => quorum.server(i).restart()));
    }
  });

  test('is told as LOADING by a server that reads its data', async () => {
    // For six seconds, of which the first would do; it need not finish.
    const server = await startRedis({ loadDelayUs: 4_000 });
    quorum.bench.onEnd(() => server.stop());
    const fillers = Array.from({ length: 1_500 }, (_, i) => ['SET', `filler:${i}`, 'x'.repeat(200)]);
    await askAll(server.port, [...fillers, ['SAVE']]);
    await server.kill();
    await server.restart();
    // A server that says so in time, however slow the machine is.
    const patient = { nodeTimeoutMs: 20_000, callTimeoutMs: 20_000 };
    const locks = quorum.session({ outageMs: 0, ...patient }, [server]);
    const error = await rejection(locks.mutex(quorum.name()).tryAcquire());
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(error).toMatchObject({ servers: [{ kind: 'reply', text: expect.stringContaining('LOADING') }] });
  });
});
