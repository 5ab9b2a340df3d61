import { createHash } from 'node:crypto';
import type { BundleShape } from '../../packages/holdfast/src/scripts/bundle-source.ts';
import { OUTCOMES } from '../../packages/holdfast/src/scripts/outcome.ts';
import { stripComments } from './lexer.ts';
import type { Program } from './program.ts';

/** The text that is sent to Redis: shebang, outcome numbers, includes, body. */
export function assemble(program: Program): string {
  const { header, script } = program;
  const body = script.text.split('\n').slice(header.lines).join('\n');
  return headOf(program) + stripComments(script.file, body);
}

/** The numbers that `bundleSource` makes the bundle of a script from. */
export function bundleShape(program: Program): BundleShape {
  const { keys, args, includes } = program.header;
  return {
    headLength: headOf(program).length,
    keys: keys.length,
    args: args.length,
    isTimed: includes.includes('now'),
  };
}

function headOf({ header, includes }: Program): string {
  return [
    `${header.shebang}\n`,
    ...header.outcomes.map(({ name }) => `local ${name} = ${OUTCOMES[name]}\n`),
    ...includes.map(({ file, text }) => stripComments(file, text)),
  ].join('');
}

/** The hash by which EVALSHA names a script. */
export function sha1(source: string): string {
  return createHash('sha1').update(source).digest('hex');
}
