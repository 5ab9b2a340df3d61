/** A package as users get it, for the tests of one file: built, and installed in an empty folder. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { MODULES, type Packed, printed } from './installed-package.ts';

/** A busy machine starts processes slowly, and compilers slower still. */
export const LIMIT_MS = 300_000;

/** The programs of a package with one entry. */
export const ONE_OF_EACH: readonly string[] = ['dist/cjs/index.js', 'dist/esm/index.js'];

/** The kinds of module, with what Node is told: one that can require an ES module must not need to. */
export const FORMATS = [
  ['user.mjs', 'imports', []],
  ['user.cjs', 'requires', []],
  ['old-user.cjs', 'requires', ['--no-experimental-require-module']],
] as const;

export class InstalledPackage {
  readonly #name: string;
  folder = '';
  packed: Packed = { filename: '', files: [] };

  constructor(name: string) {
    this.#name = name;
  }

  /** What the tarball has. */
  get paths(): string[] {
    return this.packed.files.map(({ path }) => path);
  }

  /** The text of an installed file. */
  read(path: string): Promise<string> {
    return readFile(join(this.folder, 'node_modules', this.#name, path), 'utf8');
  }

  async manifest(): Promise<Record<string, Record<string, never>>> {
    return JSON.parse(await this.read('package.json'));
  }

  /** Writes a file beside the package and runs it: what it printed. */
  async run(file: string, text: string, options: readonly string[] = []): Promise<string> {
    await writeFile(join(this.folder, file), text);
    return (await this.#node(['--no-warnings', ...options, file])).trim();
  }

  /** What the program of a kind of module imports. */
  async importsOf(format: 'esm' | 'cjs'): Promise<string[]> {
    const program = await this.read(`dist/${format}/index.js`);
    const found = program.matchAll(
      /^(?:import|export)\b[^;]* from "([^"]+)"|\b(?:require|import)\("([^"]+)"\)/gm,
    );
    return [...new Set([...found].map(([, one, other]) => one ?? other ?? ''))].sort();
  }

  /** The source maps of a package with one entry lead to its sources, and to no place outside of it. */
  async expectOwnSources(): Promise<void> {
    for (const format of ['esm', 'cjs']) {
      const { sources } = JSON.parse(await this.read(`dist/${format}/index.js.map`));
      expect(sources).not.toHaveLength(0);
      for (const source of sources) expect(source).toMatch(/^\.\.\/\.\.\/src\/[\w/-]+\.ts$/);
    }
  }

  async expectPublint(): Promise<void> {
    const said = await this.#node([join(MODULES, 'publint/src/cli.js'), 'run', this.#tarball, '--strict']);
    expect(said).toContain('All good!');
  }

  /** What attw says. Its exit code says what is wrong, and fails. */
  attw(options: readonly string[] = []): Promise<string> {
    return this.#node([join(MODULES, '@arethetypeswrong/cli/dist/index.js'), this.#tarball, ...options]);
  }

  /** Nothing is excused. */
  async expectSound(): Promise<void> {
    await this.expectPublint();
    expect(await this.attw()).toContain('No problems found');
  }

  get #tarball(): string {
    return join(this.folder, this.packed.filename);
  }

  #node(args: readonly string[]): Promise<string> {
    return printed(process.execPath, args, this.folder);
  }
}

/** Installs the package before the tests of the file, into a folder that goes with them. */
export function usePackage(name: string, install: (folder: string) => Promise<Packed>): InstalledPackage {
  const installed = new InstalledPackage(name);
  beforeAll(async () => {
    installed.folder = await mkdtemp(join(tmpdir(), `${name}-package-`));
    installed.packed = await install(installed.folder);
  }, LIMIT_MS);
  afterAll(() => rm(installed.folder, { recursive: true, force: true }));
  return installed;
}
