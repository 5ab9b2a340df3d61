// Checks a lock file: `node scripts/check/lock-file.mjs package-lock.json`. A lock file that npm wrote beside an existing
// node_modules folder, or from a mirror that lacks packages, omits packages of other platforms. `npm ci` refuses such a
// file on those platforms only, so nobody would notice here.
import { readFileSync } from 'node:fs';

/**
 * @typedef {object} Entry
 * @property {string} [resolved]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [optionalDependencies]
 */

/**
 * The folders in which Node looks for what a package imports, from its own outwards.
 *
 * @param {string} path
 */
function homes(path) {
  const ends = [...path.matchAll(/(?:^|\/)node_modules\//g)].map(({ index }) => path.slice(0, index));
  return [...new Set([path, ...ends.reverse(), ''])];
}

/**
 * @param {Record<string, Entry>} packages
 * @param {string} path
 * @returns {string[]}
 */
function complaintsAbout(packages, path) {
  const { resolved = '', dependencies, optionalDependencies } = packages[path] ?? {};
  const missing = Object.entries({ ...dependencies, ...optionalDependencies }).filter(
    ([name]) => !homes(path).some((home) => packages[`${home === '' ? '' : `${home}/`}node_modules/${name}`]),
  );
  const complaints = missing.map(
    ([name, range]) => `${path || 'the workspace'} needs ${name} ${range}, which is not locked`,
  );
  // An absolute address names the registry of the file's author, which others may not reach.
  if (/^\w+:\/\//.test(resolved)) complaints.push(`${path} is tied to ${resolved}`);
  return complaints;
}

const [file = ''] = process.argv.slice(2);
/** @type {Record<string, Entry>} */
const packages = JSON.parse(readFileSync(file, 'utf8')).packages;
const complaints = Object.keys(packages).flatMap((path) => complaintsAbout(packages, path));
for (const complaint of complaints) console.log(complaint);
if (complaints.length > 0) {
  console.log('Write it anew: rm -rf node_modules package-lock.json && npm install');
  process.exitCode = 1;
}
