import type { Rule } from '../program.ts';
import { quoteLine } from '../program.ts';

/** An include holds functions and constants, and a script includes only what it uses. */
export const checkIncludes: Rule = ({ script, includes }) => [
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
