/** How fast the monitor walks over the keys of a server that has a million of others. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startRedis } from '../../run/servers/redis.ts';
import { readCounts } from './commands.ts';
import { WatchedMonitor } from './watched-monitor.ts';

const KEYS = 1_000_000;
const KEYS_PER_SCRIPT = 50_000;

const FILL = `for i = ARGV[1], ARGV[1] + ARGV[2] - 1 do
  redis.call('SET', 'other:' .. string.format('%d', i), 'value ' .. i)
end`;

export interface ScanPace {
  /** Calls of SCAN in the second that had most of them. */
  readonly most: number;
  /** In the mean of all seconds. */
  readonly mean: number;
}

export async function measureScanPace(seconds: number): Promise<ScanPace> {
  await using server = await startRedis();
  const redis = new Redis(server.port, '127.0.0.1');
  try {
    for (let at = 0; at < KEYS; at += KEYS_PER_SCRIPT) await redis.eval(FILL, 0, at, KEYS_PER_SCRIPT);
    await using monitor = await WatchedMonitor.start(server.port);
    const rates: number[] = [];
    const first = await readCounts(redis, 0);
    let before = first;
    for (let second = 0; second < seconds; second += 1) {
      await sleep(1_000);
      const after = await readCounts(redis, 0);
      rates.push(scansBetween(before, after));
      before = after;
    }
    if (rates.every((rate) => rate === 0)) throw new Error(`the monitor at ${monitor.url} did not scan`);
    return { most: Math.max(...rates), mean: scansBetween(first, before) };
  } finally {
    redis.disconnect();
  }
}

type Counts = Awaited<ReturnType<typeof readCounts>>;

function scansBetween(before: Counts, after: Counts): number {
  const scans = (after.calls.get('scan') ?? 0) - (before.calls.get('scan') ?? 0);
  return scans / ((after.atMs - before.atMs) / 1_000);
}
