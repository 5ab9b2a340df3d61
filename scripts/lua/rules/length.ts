import type { Rule } from '../program.ts';

/** A script fits on a screen, because a reviewer has to read the whole of it. */
const LINES_MAX = 60;

export const checkLength: Rule = ({ header, script, includes }) => {
  const bodies = [
    { file: script.file, lines: lineCount(script.text) - header.lines },
    ...includes.map((include) => ({ file: include.file, lines: lineCount(include.text) })),
  ];
  return bodies
    .filter(({ lines }) => lines > LINES_MAX)
    .map(({ file, lines }) => ({
      file,
      line: 1,
      expected: `at most ${LINES_MAX} lines below the header`,
      found: `${lines}`,
    }));
};

function lineCount(text: string): number {
  return text.trimEnd().split('\n').length;
}
