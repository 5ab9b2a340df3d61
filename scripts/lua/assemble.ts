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

/**
 * The same script for many sets of keys and arguments, laid end to end: one reply each, in their order. What fails for
 * one is its own reply, `BUNDLE_FAILED` and the words, and does not touch the others.
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
    'local function run(KEYS, ARGV)\n',
    stripComments(script.file, body),
    'end\n',
    'local replies = {}\n',
    `for i = 1, #KEYS / ${keys} do\n`,
    '  local keys, args = {}, {}\n',
    `  for k = 1, ${keys} do keys[k] = KEYS[(i - 1) * ${keys} + k] end\n`,
    `  for a = 1, ${args} do args[a] = ARGV[(i - 1) * ${args} + a] end\n`,
    '  local is_well, reply = pcall(run, keys, args)\n',
    `  if not is_well then reply = { ${BUNDLE_FAILED}, type(reply) == 'table' and reply.err or tostring(reply) } end\n`,
    '  replies[i] = reply\n',
    'end\n',
    'return replies\n',
  ].join('');
}

/** What Redis knows a script by. */
export function sha1(source: string): string {
  return createHash('sha1').update(source).digest('hex');
}
