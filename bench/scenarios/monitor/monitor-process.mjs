// The monitor of one server as users run it, in a process of its own so that its CPU and memory can be told from ours:
// `node monitor-process.mjs <port of the server>`. Says where its page is.
import { createMonitor, createMonitorServer } from 'holdfast-monitor';
import { Redis } from 'ioredis';

const redis = new Redis(Number(process.argv[2]), '127.0.0.1', { lazyConnect: true });
redis.on('error', () => {});
const server = createMonitorServer(createMonitor({ redis }));
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  process.stdout.write(`http://127.0.0.1:${port}/\n`);
});
