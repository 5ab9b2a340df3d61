import { LuaComplaint } from './complaint.ts';

/** Lua files by their path under `lua/`: `lock/acquire.lua`, `include/now.lua`. */
export type LuaFiles = ReadonlyMap<string, string>;

export interface Include {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  /** The line of the script that it stands at; 0: before the script. */
  readonly at: number;
}

const DIRECTIVE = /^-- @include (\S+)$/;

/**
 * All includes of a script, each once. An include stands after those that it includes itself. Those that the body names stand
 * there: a function costs time when the script comes to it, so what a short way through the script does not need comes later.
 */
export function resolveIncludes(files: LuaFiles, file: string, headerLines: number): Include[] {
  const resolved = new Map<string, Include>();
  let at = 0;
  const visit = (name: string, path: readonly string[], from: string, line: number): void => {
    if (path.includes(name)) {
      const found = [...path, name].join(' -> ');
      throw new LuaComplaint({ file: from, line, expected: 'includes without a circle', found });
    }
    if (resolved.has(name)) return;
    const own = `include/${name}.lua`;
    const text = files.get(own);
    if (text === undefined) {
      throw new LuaComplaint({
        file: from,
        line,
        expected: `a file ${own} for @include ${name}`,
        found: 'none',
      });
    }
    for (const [index, directive] of directives(text)) visit(directive, [...path, name], own, index + 1);
    resolved.set(name, { name, file: own, text, at });
  };
  for (const [index, name] of directives(files.get(file) ?? '')) {
    at = index < headerLines ? 0 : index + 1;
    visit(name, [], file, index + 1);
  }
  return [...resolved.values()];
}

function directives(text: string): [number, string][] {
  return text.split('\n').flatMap((line, index): [number, string][] => {
    const name = DIRECTIVE.exec(line)?.[1];
    return name === undefined ? [] : [[index, name]];
  });
}
