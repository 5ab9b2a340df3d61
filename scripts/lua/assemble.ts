import { createHash } from 'node:crypto';
import { OUTCOMES } from '../../packages/holdfast/src/scripts/outcome.ts';
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

/** What Redis knows a script by. */
export function sha1(source: string): string {
  return createHash('sha1').update(source).digest('hex');
}
