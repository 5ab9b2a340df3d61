/** docs/operate/monitoring.md, from nothing to a firing alert: the commands and the file of the page, as a reader types them. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../holdfast/test/support/servers/free-port.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { ROOT } from './support/built-cli.ts';
import { holdfast, type Running, start } from './support/holdfast.ts';

const server = useRedis();
const PAGE = readFileSync(join(ROOT, 'docs/operate/monitoring.md'), 'utf8');
const [, STEPS = ''] = /^## From nothing to a firing alert\n([\s\S]*?)^## /m.exec(PAGE) ?? [];

const LIMIT_MS = 90_000;

function blocks(language: string): string[] {
  return [...STEPS.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );
}

interface Told {
  readonly kind: string;
  readonly rule: string;
  readonly alerts: readonly { readonly subject: string }[];
}

/** What the monitor told its receiver `log`. Standard output has other lines too. */
function toldBy({ stdout }: Running): string[] {
  const lines = stdout.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'));
  return lines
    .map((line) => JSON.parse(line) as Told)
    .map(({ kind, rule, alerts }) => `${kind} ${rule} ${alerts.map(({ subject }) => subject)}`);
}

test('the steps of the page lead to an alert that fires and ends', async () => {
  const [install, redis, monitor, run, check, again, ...more] = blocks('sh').join('').trim().split('\n');
  expect([install, redis, more]).toEqual(['npm install --global holdfast-cli', "redis-server --save ''", []]);
  const [config = ''] = blocks('jsonc');
  // Half a minute until it fires, a minute until it ends and the seconds of grouping are too long for a test.
  const quick = config
    .replace('"above": "30s"', '"above": "1s", "keepFor": "0s"')
    .replace('{', '{ "groupFor": "0s",');
  expect(quick).toMatch(/"groupFor".*"keepFor"/s);

  const cwd = mkdtempSync(join(tmpdir(), 'holdfast-page-'));
  const port = String(await freePort());
  const env = { HOLDFAST_REDIS_URL: server.url };
  const wordsOf = (line = ''): string[] => {
    const [program, ...words] = line.split(' ');
    expect(program, line).toBe('holdfast');
    return words;
  };
  const begin = (line: string | undefined, ...words: string[]): Running => {
    const running = start([...wordsOf(line), ...words], { env, cwd });
    onTestFinished(() => running.kill('SIGKILL'));
    return running;
  };

  const first = begin(monitor, '--port', port);
  await first.says('the monitor is at http://127.0.0.1:');
  const holding = begin(run);
  writeFileSync(join(cwd, 'monitor.jsonc'), config);
  expect(await holdfast(wordsOf(check), { env, cwd })).toMatchObject({
    code: 0,
    stdout: 'monitor.jsonc: good\n',
  });
  writeFileSync(join(cwd, 'monitor.jsonc'), quick);
  first.kill('SIGINT');
  expect(await first.ended).toMatchObject({ code: 0, stderr: '' });

  const second = begin(again, '--port', port);
  const fired = 'firing lock-held-long order:1001';
  const ended = 'resolved lock-held-long order:1001';
  await waitFor(() => toldBy(second).includes(fired), { what: fired, limitMs: LIMIT_MS });
  holding.kill('SIGINT');
  await waitFor(() => toldBy(second).includes(ended), { what: ended, limitMs: LIMIT_MS });
});
