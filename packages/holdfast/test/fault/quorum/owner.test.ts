/** Taking a lock of several servers from one owner: whose it is is what a majority says. */
import { expect, test } from 'vitest';
import { LockNotHeldError } from '../../../src/index.ts';
import { useLeakCheck } from '../../support/leak-check.ts';
import { KINDS } from '../../support/locks/kind.ts';
import { rejection } from '../../support/rejection.ts';
import { askAll } from '../../support/servers/raw-redis.ts';
import { useQuorumBench, useServers } from './support.ts';

const servers = useServers(3);
useLeakCheck(servers);
const quorum = useQuorumBench(servers);

const LOCK = KINDS.find(({ name }) => name === 'lock') as (typeof KINDS)[number];
const [A, B] = [1, 2].map((n) => `8743c9c0-0795-4907-87fd-6c719a6b4586:${n}`) as [string, string];

/** Puts the votes of owners on the servers, in their order. */
async function vote(name: string, owners: readonly string[]): Promise<void> {
  for (const [i, owner] of owners.entries()) {
    await askAll(quorum.server(i).port, [
      ['HSET', name, owner, '1'],
      ['PEXPIRE', name, '60000'],
    ]);
  }
}

test('an owner that a majority has loses it, and the vote of another one stays', async () => {
  const locks = await quorum.assembled(LOCK);
  const name = quorum.name();
  await vote(name, [A, A, B]);
  expect(await locks.forceRelease(name, { owner: A })).toBe(A);
  expect(await quorum.votes(LOCK, name)).toEqual([null, null, B]);
  // What a minority has is nobody's lock.
  expect(await locks.forceRelease(name, { owner: A })).toBeNull();
  await quorum.remove(name, [2]);
});

test('an owner that a majority has keeps it when another one is named', async () => {
  const locks = await quorum.assembled(LOCK);
  const name = quorum.name();
  await vote(name, [B, A, B]);
  const error = await rejection(locks.forceRelease(name, { owner: A }));
  expect(error).toBeInstanceOf(LockNotHeldError);
  expect(error).toMatchObject({ holder: { owner: B } });
  expect(await quorum.votes(LOCK, name)).toEqual([B, null, B]);
  expect(await locks.forceRelease(name)).toBe(B);
});
