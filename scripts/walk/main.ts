/** `npm run walk -- acquire`: the files and functions that a request passes through, in the order of first calls. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compileSources, ROOT } from './build.ts';
import { differences, requestsOf, withWalks } from './page.ts';
import { REQUESTS } from './requests.ts';
import { walkText } from './text.ts';
import { type Walk, walk } from './walk.ts';

/** A block is true if one walk agrees: replies of several servers may come in any order. */
const CHECK_TRIES = 3;
const PAGE = 'docs/architecture.md';
const USAGE = `npm run walk -- <request>... [--json]     follows requests and prints their files and functions
npm run walk -- --write [${PAGE}]   writes the walks into the marked blocks of a page
npm run walk -- --check [${PAGE}]   fails when a block of the page is no longer true

requests:
${Object.entries(REQUESTS)
  .map(([name, { about }]) => `  ${name.padEnd(10)} ${about}`)
  .join('\n')}
`;

class UsageError extends Error {}

async function walkAll(names: readonly string[]): Promise<Walk[]> {
  const unknown = names.find((name) => !Object.hasOwn(REQUESTS, name));
  if (unknown !== undefined) {
    const known = Object.keys(REQUESTS).join(', ');
    throw new UsageError(`expected a request of ${known}; got ${unknown}`);
  }
  using build = await compileSources();
  const walks: Walk[] = [];
  for (const [name, request] of Object.entries(REQUESTS)) {
    if (names.includes(name)) walks.push(await walk(name, request, build));
  }
  return walks;
}

async function writePage(path: string): Promise<void> {
  const page = readFileSync(join(ROOT, path), 'utf8');
  const names = requestsOf(page);
  writeFileSync(join(ROOT, path), withWalks(page, path, await walkAll(names)));
  console.log(`${path}: wrote ${names.length} walks`);
}

async function checkPage(path: string): Promise<void> {
  const page = readFileSync(join(ROOT, path), 'utf8');
  const names = requestsOf(page);
  let complaints: string[] = [];
  let unproved = names;
  for (let tries = 0; tries < CHECK_TRIES && unproved.length > 0; tries += 1) {
    const walks = await walkAll(unproved);
    complaints = walks.flatMap((each) => differences(page, path, each));
    unproved = walks.filter((each) => differences(page, path, each).length > 0).map(({ request }) => request);
  }
  for (const complaint of complaints) console.error(complaint);
  if (complaints.length === 0) return console.log(`${path}: ${names.length} walks are true`);
  console.error(`${path}: run \`npm run walk -- --write\``);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
    allowPositionals: true,
  });
  if (values.help) return console.log(USAGE);
  if (values.write) return writePage(positionals[0] ?? PAGE);
  if (values.check) return checkPage(positionals[0] ?? PAGE);
  if (positionals.length === 0) throw new UsageError('expected a request');
  const walks = await walkAll(positionals);
  console.log(values.json ? JSON.stringify(walks, null, 2) : walks.map(walkText).join('\n'));
}

try {
  await main();
} catch (error) {
  const isUsage =
    error instanceof UsageError ||
    (error instanceof TypeError && String(Reflect.get(error, 'code')).startsWith('ERR_PARSE_ARGS'));
  console.error(isUsage ? `${error.message}\n\n${USAGE}` : error);
  process.exitCode = isUsage ? 2 : 1;
}
