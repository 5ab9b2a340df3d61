/** Writes docs/reference/scripts.md from the headers of the scripts, so that it cannot say anything else. */
import { readHeader } from '../../../../scripts/lua/header.ts';
import { OUTCOMES } from '../../src/scripts/outcome.ts';
import { listFiles, readPage } from './pages.ts';

const LUA = 'packages/holdfast/lua';

const INTRODUCTION = `<!-- Written from the headers in ${LUA}: change those, then run \`npx vitest run packages/holdfast/test/docs -u\`. -->

# Scripts

Everything that must be atomic in Redis is a Lua script, one file each, in [${LUA}](../../${LUA}).
A script is sent by its hash (\`EVALSHA\`), and with its text (\`EVAL\`) to a server that does not know it yet. The scripts use only
commands of Redis 7.0.

Running a script twice with the same arguments does no harm, because each script states what should be true, not what should change.
This matters because clients resend commands. Scripts use only the server's time.

A script answers with a list: the number of its outcome, then the values that belong to it. Redis errors stay errors. Some outcomes are
answered as **one integer alone**, because clients read an integer several times faster: see
[bare replies](../design/002-bare-replies.md).

Calls that are made at the same moment may travel as one call: see [bundles](../design/007-bundles.md).
`;

/** The files of the scripts, as \`lock/acquire.lua\`, without those that others include. */
function listScripts(): string[] {
  const files = listFiles(LUA, '.lua').map((path) => path.slice(LUA.length + 1));
  return files.filter((path) => !path.startsWith('include/'));
}

function readScript(file: string): string {
  return readPage(`${LUA}/${file}`);
}

function describeScript(file: string): string {
  const { sentence, isBatch, keys, besides, args, outcomes, bare } = readHeader(file, readScript(file));
  const repeat = /^-- @repeat harmless: (.*)$/m.exec(readScript(file))?.[1];
  const name = file.replace('.lua', '').replace('/', '.');
  const given = [
    ...keys.map(({ name, meaning }) => `| \`${name}\` | key | ${meaning} |`),
    ...besides.map(({ name, meaning }) => `| \`${name}\` | made by the script | ${meaning} |`),
    ...args.map(({ name, type, meaning }) => `| \`${name}\` | ${type} | ${meaning} |`),
  ];
  const answers = outcomes.map((outcome) => {
    const payload = outcome.payload.map(({ name, type }) => `\`${name}\` (${type})`).join(', ');
    const row = `| \`${outcome.name}\` | ${OUTCOMES[outcome.name]} | ${payload}`;
    if (isBatch && payload !== '')
      return `${row}, as one string: \`${outcome.name}\`, a space and the text |`;
    if (bare?.outcome !== outcome.name) return `${row} |`;
    // With nothing else to tell, a script has no reason to answer with a list.
    if (outcome.payload.length === 1) return `${row}, as one integer alone |`;
    return `${row}; or \`${bare.item}\` as one integer alone |`;
  });
  const lines = [
    `## \`${name}\``,
    '',
    isBatch ? `${sentence} For many at once: one outcome for each.` : sentence,
    '',
  ];
  if (given.length > 0) lines.push('| given | as | meaning |', '| --- | --- | --- |', ...given, '');
  lines.push(
    '| outcome | number | with |',
    '| --- | --- | --- |',
    ...answers,
    '',
    `When it runs twice: ${repeat}.`,
  );
  return lines.join('\n');
}

export function scriptsPage(): string {
  return `${[INTRODUCTION.trimEnd(), ...listScripts().map(describeScript)].join('\n\n')}\n`;
}
