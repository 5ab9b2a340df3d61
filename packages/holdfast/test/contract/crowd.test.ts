/** A session with more leases than it can have clean-ups under way. */
import { describe, expect } from 'vitest';
import { ioredis6 } from './callers.ts';
import { useRow } from './harness.ts';
import { KINDS } from './kinds.ts';

/** DESIGN's own measure for what one session holds. */
const LEASES = 10_000;

describe('a crowd of leases', () => {
  const test = useRow({ title: 'ioredis 6', connect: ioredis6 });

  for (const kind of KINDS) {
    test(`closing a session releases every ${kind.name} it holds`, { timeout: 60_000 }, async ({ bench }) => {
      const locks = await bench.locks({ leaseMs: 60_000 });
      const names = Array.from({ length: LEASES }, (_, index) => bench.name(`one:${index}`));
      await Promise.all(names.map((name) => kind.of(locks, name).acquire()));
      await locks.close();
      expect(await bench.redis.exists(...names.map((name) => bench.key(name)))).toBe(0);
    });
  }
});
