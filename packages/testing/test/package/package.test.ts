/** The package as users get it: built, installed beside holdfast in an empty folder, imported and required. */
import { expect, test } from 'vitest';
import { installPackage, installTesting } from '../../../holdfast/test/package/installed-package.ts';
import { FORMATS, LIMIT_MS, ONE_OF_EACH, usePackage } from '../../../holdfast/test/package/use-package.ts';

const testing = usePackage('holdfast-testing', async (folder) => {
  await installPackage(folder, []);
  return await installTesting(folder);
});

const USE = `const node = new EmbeddedNode();
const locks = new Locks(node.client());
locks.lock('a').using(() => node.command('HLEN', 'a'), { waitMs: 5_000 }).then(async (holders) => {
  await locks.close();
  await node.close();
  console.log(holders);
});
`;
const HEADS = {
  imports: "import { Locks } from 'holdfast';\nimport { EmbeddedNode } from 'holdfast-testing';\n",
  requires: "const { Locks } = require('holdfast');\nconst { EmbeddedNode } = require('holdfast-testing');\n",
};

test.each(FORMATS)(
  'locks work on the embedded node in %s',
  { timeout: LIMIT_MS },
  async (file, head, options) => {
    expect(await testing.run(file, `${HEADS[head]}${USE}`, options)).toBe('1');
  },
);

test('has one program for each kind of module, its declarations, and nothing else', () => {
  const { paths } = testing;
  expect(paths.filter((path) => path.endsWith('.js')).sort()).toEqual(ONE_OF_EACH);
  const KNOWN = /^(dist\/.*\.(js|js\.map|d\.ts)|README\.md|LICENSE|(dist\/cjs\/)?package\.json)$/;
  expect(paths.filter((path) => !KNOWN.test(path))).toEqual([]);
  expect(paths).toEqual(expect.arrayContaining(['README.md', 'LICENSE']));
});

test('imports holdfast and its Lua engine, which its manifest names, and contains neither', async () => {
  const { dependencies, peerDependencies } = await testing.manifest();
  const named = Object.keys({ ...dependencies, ...peerDependencies }).sort();
  for (const format of ['esm', 'cjs'] as const) {
    const imported = await testing.importsOf(format);
    expect(imported.filter((name) => !name.startsWith('node:'))).toEqual(named);
  }
  await testing.expectOwnSources();
});

test('needs a holdfast of the same minor version', async () => {
  const { version, peerDependencies } = await testing.manifest();
  expect(peerDependencies).toEqual({ holdfast: `^${version}` });
});

test('passes publint and attw', { timeout: LIMIT_MS }, () => testing.expectSound());
