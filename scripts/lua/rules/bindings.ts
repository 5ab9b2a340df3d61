import type { Complaint } from '../complaint.ts';
import type { Header } from '../header.ts';
import { type Program, quoteLine, type Rule, type Unit, unitsOf } from '../program.ts';
import type { Block, Expression, For, Index, Name, Statement } from '../syntax.ts';
import { allExpressions } from '../traverse.ts';

/** One `local name = KEYS[i]` line that the header calls for. */
interface Binding {
  readonly name: string;
  readonly from: 'KEYS' | 'ARGV';
  readonly isInteger: boolean;
  /** From 1. In a batch, the place within one element's share. */
  readonly place: number;
}

/** KEYS and ARGV are read once, first thing, under the names and in the order of the header. */
export const checkBindings: Rule = (program) => {
  const { header, script } = program;
  const loop = header.isBatch ? batchLoop(script.block, header.keys.length) : undefined;
  if (header.isBatch && loop === undefined) {
    const line = header.lines + 1;
    const share = header.keys.length > 1 ? ` / ${header.keys.length}` : '';
    const expected = `\`for i = 1, #KEYS${share} do\` in a batch script`;
    return [{ file: script.file, line, expected, found: 'none' }];
  }
  const statements = (loop?.body ?? script.block).slice(0, header.keys.length + header.args.length);
  const expected = bindingsOf(header);
  const complaints = expected.flatMap((binding, index): Complaint[] => {
    const statement = statements[index];
    if (statement && isBinding(statement, binding, header, loop)) return [];
    const line = statement?.line ?? header.lines + 1;
    const found = statement ? quoteLine(script, line) : 'nothing';
    return [{ file: script.file, line, expected: `\`${describe(binding, header, loop)}\``, found }];
  });
  // One wrong line shifts all others: more complaints would repeat the first.
  return complaints.length > 0 ? complaints.slice(0, 1) : otherUses(program, statements, loop);
};

function bindingsOf(header: Header): Binding[] {
  const keys = header.keys.map(
    ({ name }, i) => ({ name, from: 'KEYS', isInteger: false, place: i + 1 }) as const,
  );
  const args = header.args.map(
    ({ name, type }, i) => ({ name, from: 'ARGV', isInteger: type === 'integer', place: i + 1 }) as const,
  );
  return [...keys, ...args];
}

function batchLoop(block: Block, keys: number): For | undefined {
  return block.find((statement): statement is For => {
    if (statement.kind !== 'for' || statement.isIn || statement.values.length !== 2) return false;
    const [from, to] = statement.values;
    return from?.kind === 'literal' && from.value === '1' && to !== undefined && isCount(to, keys);
  });
}

/** Whether the expression is the number of elements: the length of KEYS divided by the keys of an element. */
function isCount(expression: Expression, keys: number): boolean {
  if (keys === 1) return isLengthOfKeys(expression);
  if (expression.kind !== 'operation' || expression.operator !== '/') return false;
  const [length, share] = expression.operands;
  return (
    length !== undefined &&
    isLengthOfKeys(length) &&
    share?.kind === 'literal' &&
    Number(share.value) === keys
  );
}

function isLengthOfKeys(expression: Expression): boolean {
  const [operand] = expression.kind === 'operation' && expression.operator === '#' ? expression.operands : [];
  return operand?.kind === 'name' && operand.name === 'KEYS';
}

function isBinding(statement: Statement, binding: Binding, header: Header, loop: For | undefined): boolean {
  if (statement.kind !== 'local' || statement.names.length !== 1 || statement.values.length !== 1)
    return false;
  let [value] = statement.values;
  const isNumber = value?.kind === 'call' && value.callee.kind === 'name' && value.callee.name === 'tonumber';
  if (isNumber !== binding.isInteger) return false;
  if (value?.kind === 'call') value = value.args.length === 1 ? value.args[0] : undefined;
  if (statement.names[0]?.name !== binding.name || value?.kind !== 'index') return false;
  if (value.object.kind !== 'name' || value.object.name !== binding.from) return false;
  const { key } = value;
  const variable = loop?.names[0]?.name;
  const share = shareOf(binding, header);
  // A line through two points: the index is right for every element if it is for the first two.
  return [1, 2].every((i) => valueAt(key, variable, i) === (loop ? share * (i - 1) : 0) + binding.place);
}

function shareOf(binding: Binding, header: Header): number {
  return binding.from === 'KEYS' ? header.keys.length : header.args.length;
}

/** An index as a number, with the loop's variable standing for `i`. */
function valueAt(expression: Expression, variable: string | undefined, i: number): number {
  if (expression.kind === 'literal' && expression.type === 'number') return Number(expression.value);
  if (expression.kind === 'name' && expression.name === variable) return i;
  if (expression.kind === 'parentheses') return valueAt(expression.inner, variable, i);
  if (expression.kind !== 'operation' || expression.operands.length !== 2) return Number.NaN;
  const [left = 0, right = 0] = expression.operands.map((operand) => valueAt(operand, variable, i));
  if (expression.operator === '*') return left * right;
  if (expression.operator === '+') return left + right;
  return expression.operator === '-' ? left - right : Number.NaN;
}

function describe(binding: Binding, header: Header, loop: For | undefined): string {
  let index = `${binding.place}`;
  if (loop) {
    const share = shareOf(binding, header);
    const behind = share - binding.place;
    index = `${share > 1 ? `${share} * ` : ''}${loop.names[0]?.name}${behind > 0 ? ` - ${behind}` : ''}`;
  }
  const value = `${binding.from}[${index}]`;
  return `local ${binding.name} = ${binding.isInteger ? `tonumber(${value})` : value}`;
}

/** Uses of KEYS and ARGV besides the lines that the header calls for. */
function otherUses(program: Program, bound: readonly Statement[], loop: For | undefined): Complaint[] {
  const allowed = new Set<Expression>([...allExpressions(bound), ...(loop ? allParts(loop.values) : [])]);
  return unitsOf(program).flatMap((unit) =>
    [...allExpressions(unit.block)].flatMap((expression): Complaint[] => {
      if (expression.kind !== 'name' || !/^(KEYS|ARGV)$/.test(expression.name) || allowed.has(expression))
        return [];
      const list = expression.name === 'KEYS' ? program.header.keys : program.header.args;
      const declared = `${list.length} in the header`;
      const expected = `${expression.name} read once for each of the ${declared}, at the start`;
      return [{ file: unit.file, line: expression.line, expected, found: useText(unit, expression) }];
    }),
  );
}

function* allParts(expressions: readonly Expression[]): Generator<Expression> {
  for (const expression of expressions) {
    yield expression;
    if (expression.kind === 'operation') yield* allParts(expression.operands);
  }
}

function useText(unit: Unit, name: Name): string {
  const index = [...allExpressions(unit.block)].find(
    (expression): expression is Index => expression.kind === 'index' && expression.object === name,
  );
  return index?.key.kind === 'literal' ? `${name.name}[${index.key.value}]` : quoteLine(unit, name.line);
}
