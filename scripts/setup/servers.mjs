// Downloads the servers of the matrix from newer suites of Debian: `npm run servers`, or `npm run servers valkey-8.0` for
// one of them. Nothing is installed: a server is unpacked together with the C library of its suite and started through
// that library's loader. Prints which servers are unavailable. That is a failure where `CI` is set; elsewhere the matrix
// uses those that are there.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isCi } from '../ci.mjs';
import { ROOT } from '../run.mjs';

const FOLDER = process.env['HOLDFAST_SERVERS'] ?? join(ROOT, '.cache/servers');
const STEP_LIMIT_MS = 180_000;
const SOURCE_FOLDER = '/etc/apt/sources.list.d';

/** Debian's package of each server and the suites to try, in order: a version may have moved on from the first suite. */
const WANTED = [
  { name: 'valkey-8.0', program: 'valkey', suites: ['bookworm-backports'] },
  { name: 'redis-8', program: 'redis', suites: ['sid', 'trixie'] },
  { name: 'valkey-8.1', program: 'valkey', suites: ['trixie'] },
  { name: 'valkey-9', program: 'valkey', suites: ['sid'] },
];

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  const options = { encoding: /** @type {const} */ ('utf8'), timeout: STEP_LIMIT_MS };
  const { status, stdout, stderr, error } = spawnSync(command, args, options);
  if (status === 0) return stdout;
  const said = (stderr ?? '').trim().split('\n').at(-1);
  throw new Error(error?.message ?? `${command} ended with ${status}: ${said}`);
}

/** The Debian archive of this machine's apt settings, read from a `.sources` file. */
function archive() {
  const files = existsSync(SOURCE_FOLDER) ? readdirSync(SOURCE_FOLDER) : [];
  for (const file of files.filter((name) => name.endsWith('.sources'))) {
    for (const stanza of readFileSync(join(SOURCE_FOLDER, file), 'utf8').split(/\n\s*\n/)) {
      const field = (/** @type {string} */ name) => new RegExp(`^${name}: *(.*)$`, 'm').exec(stanza)?.[1];
      const [uri, suites = '', key] = [field('URIs'), field('Suites'), field('Signed-By')];
      // Skips the archive of security fixes, which lacks the other suites.
      if (uri !== undefined && /(^| )[a-z]+( |$)/.test(suites)) return { uri, key };
    }
  }
  throw new Error(`found no archive in ${SOURCE_FOLDER}`);
}

/** Options that keep apt from touching the machine's own package lists. */
function aptIn(/** @type {string} */ folder, /** @type {string} */ suite) {
  const { uri, key } = archive();
  for (const part of ['state/lists/partial', 'cache/archives/partial'])
    mkdirSync(join(folder, part), { recursive: true });
  writeFileSync(join(folder, 'status'), '');
  const origin = `deb ${key === undefined ? '' : `[signed-by=${key}] `}${uri}`;
  // Packages of a backports suite take most libraries from the suite itself.
  const suites = new Set([suite, suite.replace('-backports', '')]);
  writeFileSync(join(folder, 'suite.list'), [...suites].map((name) => `${origin} ${name} main\n`).join(''));
  const settings = {
    'Dir::State': join(folder, 'state'),
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': join(folder, 'cache'),
    'Dir::Etc::sourcelist': join(folder, 'suite.list'),
    'Dir::Etc::sourceparts': '-',
    'APT::Default-Release': suite,
    'APT::Sandbox::User': 'root',
    'APT::Keep-Downloaded-Packages': 'true',
    'Binary::apt-get::APT::Keep-Downloaded-Packages': 'true',
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
}

/** The first file below a folder whose path matches. */
function find(/** @type {string} */ folder, /** @type {RegExp} */ name) {
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((path) => name.test(path));
  if (found === undefined) throw new Error(`found no ${name} in the packages`);
  return join(folder, found);
}

/** The folders below a folder that contain shared libraries. */
function librariesIn(/** @type {string} */ folder) {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const libraries = files.filter((path) => /\.so(\.\d+)*$/.test(path));
  return [...new Set(libraries.map((path) => join(folder, dirname(path))))];
}

/**
 * Unpacks a server into `target` and returns its version.
 *
 * @param {string} program
 * @param {string} suite
 * @param {string} target
 */
function unpack(program, suite, target) {
  const work = `${target}.work`;
  rmSync(work, { recursive: true, force: true });
  const options = aptIn(work, suite);
  run('apt-get', [...options, 'update']);
  // The `-tools` package contains the server program; the `-server` package would add a system service.
  run('apt-get', [
    ...options,
    'install',
    '-y',
    '--download-only',
    '--no-install-recommends',
    `${program}-tools`,
  ]);
  const root = join(work, 'root');
  mkdirSync(root);
  const archives = join(work, 'cache/archives');
  for (const file of readdirSync(archives).filter((name) => name.endsWith('.deb'))) {
    run('dpkg-deb', ['-x', join(archives, file), root]);
  }
  rmSync(target, { recursive: true, force: true });
  renameSync(root, target);
  const loader = find(target, /(^|\/)ld-linux[^/]*\.so\.\d+$/);
  const binary = find(target, new RegExp(`(^|/)${program}-check-rdb$`));
  // One program is server, check-rdb and more: the name it is started by decides which.
  const command = [
    loader,
    '--library-path',
    librariesIn(target).join(':'),
    '--argv0',
    `${program}-server`,
    binary,
  ];
  const version = /v=([\d.]+)/.exec(run(command[0] ?? '', [...command.slice(1), '--version']))?.[1];
  if (version === undefined) throw new Error('the program does not tell its version');
  writeFileSync(
    join(target, 'server.json'),
    `${JSON.stringify({ program, version, suite, command }, null, 2)}\n`,
  );
  return version;
}

/** Downloads a server unless it is there: its version, or why it is unavailable. @returns {{ isThere: boolean, word: string }} */
function fetched(/** @type {typeof WANTED[number]} */ { name, program, suites }) {
  const target = join(FOLDER, name);
  const told = join(target, 'server.json');
  if (existsSync(told)) {
    return { isThere: true, word: `${JSON.parse(readFileSync(told, 'utf8')).version}, there already` };
  }
  const reasons = [];
  for (const suite of suites) {
    try {
      return { isThere: true, word: `${unpack(program, suite, target)} from ${suite}` };
    } catch (error) {
      reasons.push(`${suite}: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      rmSync(`${target}.work`, { recursive: true, force: true });
    }
  }
  return { isThere: false, word: `could not be had (${reasons.join('; ')})` };
}

mkdirSync(FOLDER, { recursive: true });
const names = process.argv.slice(2);
const asked = WANTED.filter(({ name }) => names.length === 0 || names.includes(name));
for (const wanted of asked) {
  const { isThere, word } = fetched(wanted);
  console.log(`${wanted.name}: ${word}`);
  if (!isThere && isCi()) process.exitCode = 1;
}
