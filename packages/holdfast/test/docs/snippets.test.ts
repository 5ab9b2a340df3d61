/**
 * Every block of TypeScript or JavaScript on a page compiles, and runs against a real server as it is written. A block marked
 * `no-run` cannot run alone; it compiles all the same. A `text` block right after a block is what it prints. `ts` and
 * `js` are ES modules, `javascript` is CommonJS.
 * The examples are run too.
 */
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ask } from '../support/servers/raw-redis.ts';
import { CALM, useCluster } from '../support/servers/redis-cluster.ts';
import { waitFor } from '../support/wait-for.ts';
import { blocksOf, listPages, ROOT } from './pages.ts';
import { expectPrinted } from './printed.ts';
import { useServerPool } from './server-pool.ts';
import { type Ran, Workshop } from './workshop.ts';

/** What a fence says, and the ending of a file in that language. */
const ENDINGS: Readonly<Record<string, string>> = { ts: 'ts', js: 'js', javascript: 'cjs' };

/** What a snippet waits for. `process.once` waits for nothing: it sets a listener. */
const WAITS = /(?<!\bprocess)\.(acquire|using|once)\(/g;

/** Most of it is waiting for one of the servers. */
const LIMIT_MS = 120_000;

const pool = useServerPool();
const cluster = useCluster(CALM);
const workshop = new Workshop();
let compiled: Ran = { code: null, output: '' };

const snippets = listPages()
  .flatMap(blocksOf)
  .flatMap((block) => {
    const { page, line, info, code } = block;
    const [language = '', ...marks] = info.split(' ');
    const ending = ENDINGS[language];
    if (ending === undefined) return [];
    const file = workshop.write(`${page.replaceAll(/[./]/g, '-')}-${line}.${ending}`, `${code}\n`);
    return [{ ...block, file, mark: marks.join(' ') }];
  });

beforeAll(async () => {
  compiled = await workshop.compile();
}, LIMIT_MS);

test('every snippet and every example compiles', () => {
  expect(compiled.output).toBe('');
  expect(compiled.code).toBe(0);
});

test('a snippet has no mark but no-run', () => {
  for (const { page, line, mark } of snippets)
    expect(['', 'no-run'], `${page}, line ${line}`).toContain(mark);
});

test('a snippet that waits for a lock says for how long', () => {
  for (const { page, line, code } of snippets) {
    const waits = code.match(WAITS) ?? [];
    const limits = code.match(/\bwaitMs\b/g) ?? [];
    expect(limits.length, `${page}, line ${line}`).toBeGreaterThanOrEqual(waits.length);
  }
});

test('a snippet that schedules a job hears of its failures', () => {
  for (const { page, line, code } of snippets) {
    const schedules = code.match(/\.schedule\(/g) ?? [];
    const listeners = code.match(/\.on\('failed',/g) ?? [];
    // One listener may be given to several schedules in a loop.
    if (schedules.length > 0) expect(listeners, `${page}, line ${line}`).not.toEqual([]);
  }
});

describe.concurrent('a snippet', { timeout: LIMIT_MS }, () => {
  for (const { page, line, mark, file, output: shown } of snippets) {
    if (mark === 'no-run') continue;
    test(`of ${page}, line ${line}, runs`, async () => {
      const { code, output } = await pool.lend((port) => workshop.start(file, port, cluster.ports[0]).ended);
      expect(code, output).toBe(0);
      if (shown !== null) expectPrinted(output, shown);
    });
  }
});

async function connectionsOf(port: number): Promise<number> {
  const [, count] = /connected_clients:(\d+)/.exec(String(await ask(port, ['INFO', 'clients']))) ?? [];
  return Number(count);
}

describe.concurrent('the example', { timeout: LIMIT_MS }, () => {
  test('of a fenced write prints what its page says', async () => {
    const file = join(ROOT, 'examples/fenced-write/main.ts');
    const { code, output } = await pool.lend((port) => workshop.start(file, port).ended);
    expect(code, output).toBe(0);
    const shown = blocksOf('examples/fenced-write/README.md').find(({ info }) => info === 'text');
    expectPrinted(output, shown?.code ?? '');
  });

  test('of a cron job runs each job on one of two replicas, and ends on SIGTERM', async () => {
    await pool.lend(async (port) => {
      const replicas = [workshop.start(join(ROOT, 'examples/cron/main.ts'), port)];
      const runs = (): string[] =>
        replicas.flatMap((replica) =>
          [...replica.printed().matchAll(/^run (\d+): done/gm)].map(([, run = '']) => run),
        );
      await waitFor(() => runs().length > 0, { limitMs: 30_000, what: 'the first run' });
      const connected = await connectionsOf(port);
      replicas.push(workshop.start(join(ROOT, 'examples/cron/main.ts'), port));
      // It listens for signals by the time that it is connected.
      await waitFor(async () => (await connectionsOf(port)) > connected, {
        limitMs: 30_000,
        what: 'the second replica',
      });
      const alone = runs().length;
      await waitFor(() => runs().length >= alone + 3, { limitMs: 20_000, what: 'three runs' });
      for (const replica of replicas) replica.kill('SIGTERM');
      for (const { code, output } of await Promise.all(replicas.map(({ ended }) => ended))) {
        expect(code, output).toBe(0);
        expect(output).not.toMatch(/error/i);
      }
      expect(new Set(runs()).size).toBe(runs().length);
    });
  });
});
