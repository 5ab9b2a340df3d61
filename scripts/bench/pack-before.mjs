// holdfast of an earlier commit as users would install it: checked out into `.cache`, built by its own build script,
// packed by npm and unpacked again.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../run.mjs';

const CACHE = join(ROOT, '.cache/bench-before');
/** Where commits have the script that builds the library: at present, and before the scripts had folders. */
const BUILD_SCRIPTS = ['scripts/build/package.mjs', 'scripts/package.mjs'];
const PACKAGE = 'packages/holdfast';

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 */
function run(command, args, cwd) {
  const { error, status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status === 0) return stdout.trim();
  throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr.trim()}`);
}

/**
 * The packed package of a commit. The build finds its tools in `node_modules` of the repository around `.cache`.
 *
 * @param {string} commit
 * @param {string} folder
 */
function packCommit(commit, folder) {
  const tree = join(folder, 'tree');
  run('git', ['worktree', 'add', '--detach', '--force', tree, commit], ROOT);
  try {
    const script = BUILD_SCRIPTS.find((path) => existsSync(join(tree, path)));
    if (script === undefined)
      throw new Error(`expected ${BUILD_SCRIPTS.join(' or ')} in ${commit}, found neither`);
    run(process.execPath, [script, PACKAGE, '--code'], tree);
    run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], join(tree, PACKAGE));
  } finally {
    run('git', ['worktree', 'remove', '--force', tree], ROOT);
  }
  const packed = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (packed === undefined) throw new Error(`expected npm to pack into ${folder}, found nothing`);
  return join(folder, packed);
}

/**
 * Unpacks a package and returns the file URL of the ES module that `import 'holdfast'` loads.
 *
 * @param {string} packed
 * @param {string} folder
 */
function unpack(packed, folder) {
  run('tar', ['-xzf', packed, '-C', folder], ROOT);
  const home = join(folder, 'package');
  const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  return pathToFileURL(join(home, manifest.exports['.'].import.default)).href;
}

/**
 * Returns the file URL of the build's entry.
 *
 * @param {string} before a commit, a branch or a tag, or the path of a package that `npm pack` has made
 */
export function packBefore(before) {
  const isPacked = before.endsWith('.tgz');
  const name = isPacked ? 'packed' : run('git', ['rev-parse', '--verify', `${before}^{commit}`], ROOT);
  const folder = join(CACHE, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return unpack(isPacked ? resolve(before) : packCommit(name, folder), folder);
}
