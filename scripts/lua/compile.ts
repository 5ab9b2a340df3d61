import { assemble, bundleShape } from './assemble.ts';
import { type Complaint, LuaComplaint } from './complaint.ts';
import { type CompiledScript, emitModule } from './emit.ts';
import type { LuaFiles } from './include.ts';
import { type Rule, readProgram } from './program.ts';
import { checkBindings } from './rules/bindings.ts';
import { checkCommands } from './rules/commands.ts';
import { checkGlobals } from './rules/globals.ts';
import { checkIncludes } from './rules/includes.ts';
import { checkKeys } from './rules/keys.ts';
import { checkLength } from './rules/length.ts';
import { checkReplies } from './rules/replies.ts';

export interface Compiled {
  /** The text of generated.ts before formatting; empty when there are complaints. */
  readonly module: string;
  readonly complaints: readonly Complaint[];
}

const RULES: readonly Rule[] = [
  checkLength,
  checkBindings,
  checkIncludes,
  checkGlobals,
  checkCommands,
  checkKeys,
  checkReplies,
];

/** Checks every script and generates one TypeScript module from all. */
export function compile(files: LuaFiles): Compiled {
  const scripts: CompiledScript[] = [];
  const complaints: Complaint[] = [];
  const unused = new Set([...files.keys()].filter(isInclude));
  for (const file of files.keys()) {
    if (isInclude(file)) continue;
    try {
      const name = scriptName(file);
      const program = readProgram(files, file);
      for (const include of program.includes) unused.delete(include.file);
      complaints.push(...RULES.flatMap((rule) => rule(program)));
      const bundle = program.header.canBundle ? bundleShape(program) : undefined;
      scripts.push({ name, header: program.header, source: assemble(program), bundle });
    } catch (error) {
      if (!(error instanceof LuaComplaint)) throw error;
      complaints.push(error.complaint);
    }
  }
  // Looked for only when every file was read: one that was not may include it.
  if (complaints.length === 0) {
    for (const file of unused)
      complaints.push({ file, line: 1, expected: 'a script that includes it', found: 'none' });
  }
  return { module: complaints.length > 0 ? '' : emitModule(scripts), complaints };
}

function isInclude(file: string): boolean {
  return file.startsWith('include/');
}

/** `lock.acquire` for `lock/acquire.lua`. */
function scriptName(file: string): string {
  const name = /^([a-z-]+)\/([a-z-]+)\.lua$/.exec(file);
  if (name === null) {
    throw new LuaComplaint({ file, line: 1, expected: 'a path <noun>/<verb>.lua', found: file });
  }
  return `${name[1]}.${name[2]}`;
}
