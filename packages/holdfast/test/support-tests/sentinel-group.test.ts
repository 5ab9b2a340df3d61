import { describe, expect, test } from 'vitest';
import { ask } from '../support/servers/raw-redis.ts';
import { roleOf } from '../support/servers/replicated-servers.ts';
import { useSentinels } from '../support/servers/sentinel-group.ts';
import { waitFor } from '../support/wait-for.ts';

const group = useSentinels();

describe('a group of servers under sentinels', { timeout: 240_000 }, () => {
  test('begins with one primary, and everything written there is on the replicas', async () => {
    const primary = await group.primary();
    await ask(primary.port, ['SET', 'a', '1']);
    await group.group.untilInSync(primary);
    for (const server of group.servers) expect(await ask(server.port, ['GET', 'a'])).toBe('1');
  });

  test('has another primary after a planned failover, and the first one follows it', async () => {
    const before = await group.primary();
    const after = await group.failOver();
    expect(after).not.toBe(before);
    // The sentinels tell it in their own time; until then it takes itself for a primary.
    await waitFor(async () => (await roleOf(before)) === 'slave', { limitMs: 90_000 });
  });

  test('has another primary after the first was killed, and is whole again after that', async () => {
    const before = await group.primary();
    await before.kill();
    const after = await group.untilAnother(before);
    await group.restore();
    expect(await group.primary()).toBe(after);
    expect(await roleOf(before)).toBe('slave');
  });
});
