/** A session with more leases than it keeps clean-ups for: closing it is no outage, so none is dropped. */
import { describe, expect } from 'vitest';
import { LATE_RELEASES_MAX } from '../../src/topologies/server/holders.ts';
import { KINDS } from '../support/locks/kind.ts';
import { ioredis6 } from './callers.ts';
import { useRow } from './harness.ts';

const LEASES = LATE_RELEASES_MAX + 200;
const AT_ONCE = 500;

describe('many leases of one session', () => {
  const test = useRow({ title: 'ioredis 6', connect: ioredis6 });

  for (const kind of KINDS) {
    test(`closing a session releases every ${kind.name} it holds`, async ({ bench }) => {
      const locks = await bench.session({ leaseMs: 120_000, callTimeoutMs: 20_000 });
      const names = Array.from({ length: LEASES }, (_, index) => bench.name(`one:${index}`));
      for (let from = 0; from < LEASES; from += AT_ONCE) {
        await Promise.all(names.slice(from, from + AT_ONCE).map((name) => kind.of(locks, name).acquire()));
      }
      await locks.close();
      const left = await bench.redis.exists(...names.map((name) => bench.foreignKey(name)));
      expect(left).toBe(0);
    });
  }
});
