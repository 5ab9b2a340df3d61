/** The package as users get it: built, installed beside holdfast in an empty folder, imported and required. */
import { expect, test } from 'vitest';
import { installPackage, installTelemetry } from '../../../holdfast/test/package/installed-package.ts';
import { FORMATS, LIMIT_MS, ONE_OF_EACH, usePackage } from '../../../holdfast/test/package/use-package.ts';

const telemetry = usePackage('holdfast-telemetry', async (folder) => {
  await installPackage(folder, []);
  return await installTelemetry(folder);
});

const USE = `const registry = new client.Registry();
const telemetries = [startPrometheus(client, { registry }), startOpenTelemetry(api)];
channel('holdfast:waiter:woken').publish({ lock: 'a', kind: 'lock', reason: 'time' });
registry.metrics().then((text) => {
  console.log(/holdfast_wakeups_total\\{.*\\} 1/.test(text));
  for (const telemetry of telemetries) telemetry.stop();
});
`;
const HEADS = {
  imports: `import { channel } from 'node:diagnostics_channel';
import * as api from '@opentelemetry/api';
import * as client from 'prom-client';
import { startOpenTelemetry, startPrometheus } from 'holdfast-telemetry';
`,
  requires: `const { channel } = require('node:diagnostics_channel');
const api = require('@opentelemetry/api');
const client = require('prom-client');
const { startOpenTelemetry, startPrometheus } = require('holdfast-telemetry');
`,
};

test.each(FORMATS)('figures are counted in %s', { timeout: LIMIT_MS }, async (file, head, options) => {
  expect(await telemetry.run(file, `${HEADS[head]}${USE}`, options)).toBe('true');
});

test('has one program for each kind of module, its declarations, and nothing else', () => {
  const { paths } = telemetry;
  expect(paths.filter((path) => path.endsWith('.js')).sort()).toEqual(ONE_OF_EACH);
  const KNOWN = /^(dist\/.*\.(js|js\.map|d\.ts)|README\.md|LICENSE|(dist\/cjs\/)?package\.json)$/;
  expect(paths.filter((path) => !KNOWN.test(path))).toEqual([]);
  expect(paths).toEqual(expect.arrayContaining(['README.md', 'LICENSE']));
});

test('imports nothing but holdfast: what is optional is handed in', async () => {
  for (const format of ['esm', 'cjs'] as const) {
    expect(await telemetry.importsOf(format)).toEqual(['holdfast', 'node:diagnostics_channel']);
  }
  await telemetry.expectOwnSources();
});

test('needs a holdfast of the same minor version, and the others only if they are used', async () => {
  const { version, peerDependencies = {}, peerDependenciesMeta = {} } = await telemetry.manifest();
  expect(peerDependencies['holdfast']).toBe(`^${version}`);
  const optional = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.['optional']);
  expect(optional.sort()).toEqual(['@opentelemetry/api', 'prom-client']);
});

test('passes publint and attw', { timeout: LIMIT_MS }, () => telemetry.expectSound());
