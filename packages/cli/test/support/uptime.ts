/** A server of a test file is young, which some commands mind: until it has been up for that long. */
import { ask } from '../../../holdfast/test/support/servers/raw-redis.ts';
import type { RedisServer } from '../../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';

export async function untilUpFor({ port }: RedisServer, seconds: number): Promise<void> {
  const isOld = async (): Promise<boolean> => {
    const info = String(await ask(port, ['INFO', 'server']));
    return Number(/uptime_in_seconds:(\d+)/.exec(info)?.[1]) >= seconds;
  };
  await waitFor(isOld, { what: `a server that is up for ${seconds} s`, limitMs: 60_000 });
}
