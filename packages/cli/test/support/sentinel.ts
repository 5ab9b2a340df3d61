/** A real sentinel that watches one primary. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  guardProcess,
  makeGuardedFolder,
  removeGuardedFolder,
} from '../../../holdfast/test/support/processes/process-guard.ts';
import { freePort } from '../../../holdfast/test/support/servers/free-port.ts';
import { ask } from '../../../holdfast/test/support/servers/raw-redis.ts';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';

/** Its port. It ends with the test. */
export async function startSentinel(name: string, primaryPort: number): Promise<number> {
  const port = await freePort();
  const folder = makeGuardedFolder('holdfast-sentinel-');
  const file = join(folder, 'sentinel.conf');
  writeFileSync(file, `port ${port}\nbind 127.0.0.1\nsentinel monitor ${name} 127.0.0.1 ${primaryPort} 1\n`);
  const sentinel = spawn('redis-server', [file, '--sentinel'], { cwd: folder, stdio: 'ignore' });
  guardProcess(sentinel);
  onTestFinished(async () => {
    const ended = new Promise((resolve) => sentinel.once('exit', resolve));
    sentinel.kill('SIGKILL');
    await ended;
    removeGuardedFolder(folder);
  });
  await waitFor(async () => (await ask(port, ['PING'])) === 'PONG', {
    what: 'the sentinel',
    limitMs: 10_000,
  });
  return port;
}
