import type { Complaint } from './complaint.ts';
import { type Header, readHeader } from './header.ts';
import { type LuaFiles, resolveIncludes } from './include.ts';
import { type Declaration, declare, type Names, resolveNames } from './names.ts';
import { parse } from './parser.ts';
import type { Block } from './syntax.ts';

/** One Lua file, parsed. */
export interface Unit {
  readonly file: string;
  readonly text: string;
  readonly block: Block;
  readonly names: Names;
}

/** An include, and the line of the script that it stands at; 0: before the script. */
export interface IncludedUnit extends Unit {
  readonly at: number;
}

/** A script with its header and its includes: the input of every rule. */
export interface Program {
  readonly header: Header;
  readonly script: Unit;
  /** In the order in which they stand. */
  readonly includes: readonly IncludedUnit[];
}

/** A rule checks a whole program and returns its complaints. */
export type Rule = (program: Program) => Complaint[];

export function readProgram(files: LuaFiles, file: string): Program {
  const text = files.get(file) ?? '';
  const header = readHeader(file, text);
  const outcomes = header.outcomes.map(({ name, line }) => declare('outcome', name, line));
  const shared: Declaration[] = [];
  const includes = resolveIncludes(files, file, header.lines).map((include): IncludedUnit => {
    const block = parse(include.file, include.text, 1);
    const names = resolveNames(block, shared);
    shared.push(...names.top);
    return { file: include.file, text: include.text, block, names, at: include.at };
  });
  const block = parse(file, text.split('\n').slice(header.lines).join('\n'), header.lines + 1);
  const script = { file, text, block, names: resolveNames(block, [...outcomes, ...shared]) };
  return { header, script, includes };
}

export function unitsOf(program: Program): Unit[] {
  return [...program.includes, program.script];
}

/** A line of a file as a complaint quotes it. */
export function quoteLine(unit: Unit, line: number): string {
  return `\`${unit.text.split('\n')[line - 1]?.trim() ?? ''}\``;
}
