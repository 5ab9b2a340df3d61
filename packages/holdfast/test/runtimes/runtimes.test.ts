/** The core of the contract on every runtime that is there, with the package as users get it. */
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installPackage, printed } from '../package/installed-package.ts';
import { ask } from '../support/servers/raw-redis.ts';
import { useRedis } from '../support/servers/redis-server.ts';
import { runtimes } from './runtime.ts';

const CORE = join(import.meta.dirname, 'core.mjs');
const RULES = 9;

const redis = useRedis();
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-runtimes-'));
  await installPackage(folder, ['ioredis', 'redis', '@redis']);
  await copyFile(CORE, join(folder, 'core.mjs'));
}, 180_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each(runtimes())('$title', ({ command }) => {
  test.each(['ioredis', 'redis'])(
    'keeps the core of the contract with %s',
    { timeout: 120_000 },
    async (library) => {
      await ask(redis.port, ['FLUSHALL']);
      const [program = '', ...args] = command;
      const lines = await printed(program, [...args, 'core.mjs', library, String(redis.port)], folder);
      expect(lines.match(/^kept: /gm)).toHaveLength(RULES);
    },
  );
});
