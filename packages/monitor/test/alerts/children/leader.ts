/** A monitor's alerts in a process of their own, on figures that always say the same, for a test that freezes it. */
import { Locks } from 'holdfast';
import { Redis } from 'ioredis';
import { createAlerts, loadConfig, SettingsHolder } from '../../../src/alerts/index.ts';
import { card, FakeFigures, figures } from '../support/figures.ts';

const [url = '', config = ''] = process.argv.slice(2);
const redis = new Redis(url, { maxRetriesPerRequest: 1 });
redis.on('error', () => {});
const settings = new SettingsHolder(loadConfig(config));
const source = new FakeFigures(() => {
  const at = Date.now();
  return figures({ at, servers: [card({ seenAt: at, startedAt: at - 86_400_000, memoryUsed: 970 })] });
});
const alerts = createAlerts({
  fleet: settings.current.fleet,
  figures: source,
  state: redis,
  locks: new Locks(redis),
  leaseMs: 2_000,
  settings,
  log: (line) => process.stdout.write(`${JSON.stringify({ log: line })}\n`),
  print: (line) => process.stdout.write(`${JSON.stringify({ sent: JSON.parse(line) })}\n`),
});
alerts.start();
setInterval(() => source.tick(), 200);
