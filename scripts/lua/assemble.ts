import { createHash } from 'node:crypto';
import { BUNDLE_FAILED, OUTCOMES } from '../../packages/holdfast/src/scripts/outcome.ts';
import { stripComments } from './lexer.ts';
import type { Program } from './program.ts';

/** The text that is sent to Redis: shebang, outcome numbers, includes, body. */
export function assemble({ header, script, includes }: Program): string {
  const body = script.text.split('\n').slice(header.lines).join('\n');
  return [
    `${header.shebang}\n`,
    ...header.outcomes.map(({ name }) => `local ${name} = ${OUTCOMES[name]}\n`),
    ...includes.map(({ file, text }) => stripComments(file, text)),
    stripComments(script.file, body),
  ].join('');
}

/** The server's time is the same for all of a bundle: asking once saves a call for each of them. */
const ONE_TIME = `local bundle_ms, bundle_us = server_now()
local function server_now() return bundle_ms, bundle_us end
`;

/**
 * The same script for many sets of keys and arguments: one reply each, in their order. What fails for one is its own
 * reply, `BUNDLE_FAILED` and the words, and does not touch the others.
 *
 * Keys are laid end to end. Arguments come by position, all of the first ones before the second ones, and one that is
 * the same for all comes once: the first argument has a 1 for each of those.
 */
export function assembleBundle(program: Program): string {
  const { header, script, includes } = program;
  const body = script.text.split('\n').slice(header.lines).join('\n');
  const { length: keys } = header.keys;
  const { length: args } = header.args;
  return [
    `${header.shebang}\n`,
    ...header.outcomes.map(({ name }) => `local ${name} = ${OUTCOMES[name]}\n`),
    ...includes.map(({ file, text }) => stripComments(file, text)),
    ...(header.includes.includes('now') ? [ONE_TIME] : []),
    'local function run(KEYS, ARGV)\n',
    stripComments(script.file, body),
    'end\n',
    `local count = #KEYS / ${keys}\n`,
    'local replies, keys, args, first, step = {}, {}, {}, {}, {}\n',
    'local from = 2\n',
    `for a = 1, ${args} do\n`,
    "  step[a] = string.sub(ARGV[1], a, a) == '1' and 0 or 1\n",
    '  first[a] = from\n',
    '  from = from + (step[a] == 0 and 1 or count)\n',
    'end\n',
    'for i = 0, count - 1 do\n',
    `  for k = 1, ${keys} do keys[k] = KEYS[i * ${keys} + k] end\n`,
    `  for a = 1, ${args} do args[a] = ARGV[first[a] + i * step[a]] end\n`,
    '  local is_well, reply = pcall(run, keys, args)\n',
    `  if not is_well then reply = { ${BUNDLE_FAILED}, type(reply) == 'table' and reply.err or tostring(reply) } end\n`,
    '  replies[i + 1] = reply\n',
    'end\n',
    'return replies\n',
  ].join('');
}

/** What Redis knows a script by. */
export function sha1(source: string): string {
  return createHash('sha1').update(source).digest('hex');
}
