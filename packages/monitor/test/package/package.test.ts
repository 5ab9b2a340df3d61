/** The package as users get it: built, installed beside holdfast in an empty folder, imported and required. */
import { expect, test } from 'vitest';
import { installMonitor } from '../../../holdfast/test/package/installed-package.ts';
import { FORMATS, LIMIT_MS, ONE_OF_EACH, usePackage } from '../../../holdfast/test/package/use-package.ts';

const monitor = usePackage('holdfast-monitor', installMonitor);

/** Its page needs no server: it is a file of the package, sent compressed. */
const USE = `const redis = new Redis({ port: 1, lazyConnect: true, retryStrategy: () => null });
redis.on('error', () => {});
const monitor = createMonitor({ redis, authorize: () => ({ user: 'me', mayAct: false }) });
const page = new Request('http://localhost/', { headers: { host: 'localhost' } });
monitor.handle(page, { address: '127.0.0.1' }).then(async (response) => {
  console.log(response.status, /<html/i.test(await response.text()), typeof prometheusRules());
  await monitor.close();
  redis.disconnect();
});
`;
const HEADS = {
  imports: `import { Redis } from 'ioredis';
import { createMonitor, prometheusRules } from 'holdfast-monitor';
`,
  requires: `const { Redis } = require('ioredis');
const { createMonitor, prometheusRules } = require('holdfast-monitor');
`,
};

test.each(FORMATS)('the page is served in %s', { timeout: LIMIT_MS }, async (file, head, options) => {
  expect(await monitor.run(file, `${HEADS[head]}${USE}`, options)).toBe('200 true string');
});

test('has one program for each kind of module, its page, its declarations, and nothing else', () => {
  const { paths } = monitor;
  const programs = paths.filter((path) => path.endsWith('.js') && !path.startsWith('dist/page/'));
  expect(programs.sort()).toEqual(ONE_OF_EACH);
  const KNOWN =
    /^(dist\/(page\/.*|.*\.(js|js\.map|d\.ts))|schemas\/monitor\.schema\.json|README\.md|LICENSE|(dist\/cjs\/)?package\.json)$/;
  expect(paths.filter((path) => !KNOWN.test(path))).toEqual([]);
  expect(paths).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'schemas/monitor.schema.json']));
});

test('imports what its manifest names, and contains none of it', async () => {
  const { dependencies = {} } = await monitor.manifest();
  for (const format of ['esm', 'cjs'] as const) {
    const imported = await monitor.importsOf(format);
    expect(imported.filter((name) => !name.startsWith('node:'))).toEqual(Object.keys(dependencies).sort());
  }
  await monitor.expectOwnSources();
});

test('needs the holdfast of its own version', async () => {
  const { version, dependencies = {} } = await monitor.manifest();
  expect(dependencies['holdfast']).toBe(version);
});

test('passes publint and attw', { timeout: LIMIT_MS }, () => monitor.expectSound());
