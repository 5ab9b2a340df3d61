import { quoteLine, type Rule } from '../program.ts';
import type { Name } from '../syntax.ts';
import { allExpressions } from '../traverse.ts';

/** An include holds functions and constants, and a script includes only what it uses, above its uses. */
export const checkIncludes: Rule = ({ script, includes }) => [
  ...includes.flatMap((include) =>
    [...allExpressions(script.block)]
      .filter((name) => name.kind === 'name' && name.line < include.at)
      .filter((name) => include.names.top.some((own) => own === script.names.declarationOf(name as Name)))
      .map(({ line }) => ({
        file: script.file,
        line,
        expected: `what ${include.file} gives only below line ${include.at}, where it stands`,
        found: quoteLine(script, line),
      })),
  ),
  ...includes.flatMap((include) =>
    include.block
      .filter(({ kind }) => kind !== 'function' && kind !== 'local')
      .map(({ line }) => ({
        file: include.file,
        line,
        expected: 'only local functions and constants in an include',
        found: quoteLine(include, line),
      })),
  ),
  ...includes
    .filter((include) => include.names.top.every(({ reads }) => reads.length === 0))
    .map((include) => {
      const name = include.file.replace(/^include\/|\.lua$/g, '');
      const line = script.text.split('\n').indexOf(`-- @include ${name}`) + 1 || 1;
      return { file: script.file, line, expected: `a use of what @include ${name} gives`, found: 'none' };
    }),
];
