import { createHash } from 'node:crypto';
import type { BundleShape } from '../../packages/holdfast/src/scripts/bundle-source.ts';
import { OUTCOMES } from '../../packages/holdfast/src/scripts/outcome.ts';
import { stripComments } from './lexer.ts';
import type { Program } from './program.ts';

/** The text that is sent to Redis: shebang, outcome numbers, includes, body with the includes that stand there. */
export function assemble(program: Program): string {
  const { header, script } = program;
  const lines = script.text.split('\n');
  const ends = [...new Set(program.includes.map(({ at }) => at))].filter((at) => at > 0);
  const parts = [header.lines, ...ends].map((from, i) => {
    const code = stripComments(script.file, lines.slice(from, ends[i]).join('\n'));
    return code + (ends[i] === undefined ? '' : includedAt(program, ends[i]));
  });
  return headOf(program) + parts.join('');
}

function includedAt({ includes }: Program, line: number): string {
  return includes
    .filter(({ at }) => at === line)
    .map(({ file, text }) => stripComments(file, text))
    .join('');
}

/** The numbers that `bundleSource` makes the bundle of a script from. */
export function bundleShape(program: Program): BundleShape {
  const { keys, args, includes } = program.header;
  return {
    headLength: headOf(program).length,
    keys: keys.length,
    args: args.length,
    isTimed: includes.includes('now'),
    line: includes.includes('has-line') ? keys.findIndex(({ name }) => name === 'line') + 1 : 0,
  };
}

function headOf(program: Program): string {
  const { header } = program;
  return [
    `${header.shebang}\n`,
    ...header.outcomes.map(({ name }) => `local ${name} = ${OUTCOMES[name]}\n`),
    includedAt(program, 0),
  ].join('');
}

/** The hash by which EVALSHA names a script. */
export function sha1(source: string): string {
  return createHash('sha1').update(source).digest('hex');
}
