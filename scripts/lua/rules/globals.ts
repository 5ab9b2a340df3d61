import { OUTCOMES } from '../../../packages/holdfast/src/scripts/outcome.ts';
import type { Complaint } from '../complaint.ts';
import { kindOf } from '../kinds.ts';
import { type Rule, type Unit, unitsOf } from '../program.ts';
import type { Expression, Index, Name } from '../syntax.ts';
import { allExpressions, dottedName } from '../traverse.ts';

const FUNCTIONS = ['error', 'pcall', 'tonumber', 'type', 'unpack'];

const LIBRARIES: ReadonlyMap<string, readonly string[]> = new Map([
  ['redis', ['acl_check_cmd', 'call', 'pcall', 'sha1hex']],
  ['string', ['format', 'match', 'sub']],
  ['math', ['floor', 'max', 'min']],
]);

/** Names that are refused, and what to use instead. */
const INSTEAD: ReadonlyMap<string, string> = new Map([
  ['os', "the server's time from TIME"],
  ['tostring', "string.format('%.0f', ...), as tostring writes 1.79e+15"],
  ['cjson', 'integers, strings and flat arrays'],
]);

const ALLOWED = [
  ...FUNCTIONS,
  ...[...LIBRARIES].map(([name, members]) => `${name}.${members.join('/')}`),
].join(', ');

/** Only locals, a few library functions, and every local is used. */
export const checkGlobals: Rule = (program) =>
  unitsOf(program).flatMap((unit) => [...globals(unit), ...concatenations(unit), ...unusedLocals(unit)]);

function globals(unit: Unit): Complaint[] {
  const expressions = [...allExpressions(unit.block)];
  const members = new Set<Expression>();
  const complaints: Complaint[] = [];
  for (const expression of expressions) {
    if (expression.kind !== 'index' || expression.object.kind !== 'name') continue;
    if (!LIBRARIES.has(expression.object.name) || unit.names.declarationOf(expression.object)) continue;
    members.add(expression.object);
    complaints.push(...unknownMember(unit, expression, expression.object));
  }
  for (const expression of expressions) {
    if (expression.kind !== 'name' || members.has(expression)) continue;
    if (unit.names.declarationOf(expression) || isFree(expression.name)) continue;
    complaints.push({ file: unit.file, line: expression.line, ...undeclared(expression.name) });
  }
  return complaints;
}

/** KEYS and ARGV have a rule of their own. */
function isFree(name: string): boolean {
  return FUNCTIONS.includes(name) || name === 'KEYS' || name === 'ARGV';
}

function undeclared(name: string): { expected: string; found: string } {
  if (Object.hasOwn(OUTCOMES, name)) {
    return { expected: `a line \`@outcome ${name}\` in the header`, found: `${name} without it` };
  }
  const instead = INSTEAD.get(name);
  const expected = instead ?? `a local, or one of ${ALLOWED}`;
  return { expected, found: `the global \`${name}\`` };
}

function unknownMember(unit: Unit, member: Index, library: Name): Complaint[] {
  const name = dottedName(member);
  const known = LIBRARIES.get(library.name)?.some((own) => `${library.name}.${own}` === name);
  if (known) return [];
  return [{ file: unit.file, line: member.line, expected: `one of ${ALLOWED}`, found: `\`${name}\`` }];
}

/** Concatenation formats a number as `tostring` does, which loses digits. */
function concatenations(unit: Unit): Complaint[] {
  return [...allExpressions(unit.block)].flatMap((expression) => {
    if (expression.kind !== 'operation' || expression.operator !== '..') return [];
    if (!expression.operands.some((operand) => kindOf(operand, unit.names) === 'integer')) return [];
    const expected = 'strings on both sides of `..`';
    return [{ file: unit.file, line: expression.line, expected, found: 'a number' }];
  });
}

function unusedLocals(unit: Unit): Complaint[] {
  const isInclude = unit.file.startsWith('include/');
  return unit.names.declarations
    .filter((declaration) => declaration.reads.length === 0)
    .filter((declaration) => !(isInclude && unit.names.top.includes(declaration)))
    .map(({ name, line }) => ({
      file: unit.file,
      line,
      expected: `\`${name}\` to be used`,
      found: 'no use of it',
    }));
}
