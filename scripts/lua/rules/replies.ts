import type { Complaint } from '../complaint.ts';
import type { Outcome } from '../header.ts';
import { givesOneValue, kindOf } from '../kinds.ts';
import type { Declaration } from '../names.ts';
import { type Program, quoteLine, type Rule } from '../program.ts';
import type { Expression, Return, Table } from '../syntax.ts';
import { statementsOf } from '../traverse.ts';

/** Every reply is an outcome of the header with its payload, and every outcome of the header is given somewhere. */
export const checkReplies: Rule = (program) => {
  const { script, header } = program;
  const given = new Set<string>();
  const last = script.block.at(-1);
  if (last?.kind !== 'return') {
    const line = last?.line ?? header.lines + 1;
    return [{ file: script.file, line, expected: 'a return at the end', found: quoteLine(script, line) }];
  }
  const returns = [...statementsOf(script.block, false)].filter((statement) => statement.kind === 'return');
  const complaints = returns.flatMap((statement) =>
    header.isBatch ? checkBatch(program, statement, given) : checkReply(program, statement, given),
  );
  const { bare } = header;
  const hasBare = returns.some(({ values: [value] }) => value !== undefined && isBareValue(program, value));
  if (bare !== undefined && !hasBare) {
    const expected = `a return of ${bare.item} alone, which the header declares`;
    complaints.push({ file: script.file, line: bare.line, expected, found: 'none' });
  }
  const silent = header.outcomes.filter(({ name }) => !given.has(name));
  return [
    ...complaints,
    ...silent.map(({ name, line }) => ({
      file: script.file,
      line,
      expected: `a return of ${name}, which the header declares`,
      found: 'none',
    })),
  ];
};

function checkReply(program: Program, { values, line }: Return, given: Set<string>): Complaint[] {
  const { script } = program;
  const [value] = values;
  const built = value === undefined ? undefined : builtTable(program, value);
  const table = value?.kind === 'table' ? value : built?.value;
  const at = { file: script.file, line };
  const found = quoteLine(script, line);
  const { bare } = program.header;
  if (bare !== undefined && values.length === 1 && value !== undefined && isBareValue(program, value)) {
    given.add(bare.outcome);
    return [];
  }
  if (values.length !== 1 || table?.kind !== 'table') {
    return [{ ...at, expected: 'one table that begins with an outcome of the header', found }];
  }
  const outcome = outcomeOf(program, table.items[0]?.value);
  if (outcome === undefined)
    return [{ ...at, expected: 'an outcome of the header first in the reply', found }];
  given.add(outcome.name);
  const hasRest = outcome.payload.at(-1)?.type === 'strings';
  if (built && !hasRest) {
    return [
      { ...at, expected: `\`return { ${outcome.name}, ... }\`, as its payload has a fixed length`, found },
    ];
  }
  return [
    ...checkPayload(program, outcome, table),
    ...(built ? checkElements(program, built, 'string') : []),
  ];
}

/** Whether the expression is surely one integer: the payload item of the header, or the result of a call. */
function isBareValue({ header, script }: Program, value: Expression): boolean {
  if (header.bare === undefined || (value.kind !== 'name' && value.kind !== 'call')) return false;
  if (value.kind === 'name' && value.name !== header.bare.item) return false;
  if (value.kind === 'call' && !givesOneValue(value, script.names)) return false;
  const kind = kindOf(value, script.names);
  return kind === 'integer' || kind === 'unknown';
}

function checkPayload(program: Program, outcome: Outcome, table: Table): Complaint[] {
  const { script } = program;
  const at = { file: script.file, line: table.line };
  const payload = table.items.slice(1);
  const fixed = outcome.payload.filter(({ type }) => type !== 'strings');
  const hasRest = fixed.length < outcome.payload.length;
  if (hasRest ? payload.length < fixed.length : payload.length !== fixed.length) {
    const expected = `${outcome.name} with ${hasRest ? 'at least ' : ''}${fixed.length} payload items`;
    return [{ ...at, expected, found: `${payload.length}` }];
  }
  const last = payload.at(-1)?.value;
  if (last?.kind === 'call' && !givesOneValue(last, script.names)) {
    const expected = 'a call that is sure to give one value at the end of a reply';
    return [{ ...at, expected, found: quoteLine(script, last.line) }];
  }
  return payload.flatMap(({ key, value }, index): Complaint[] => {
    const item = outcome.payload[Math.min(index, outcome.payload.length - 1)];
    const wanted = item?.type === 'integer' ? 'integer' : 'string';
    const kind = kindOf(value, script.names);
    if (key === null && (kind === wanted || kind === 'unknown')) return [];
    const found = key === null ? `a value of kind ${kind}` : 'a named field';
    return [
      { file: script.file, line: value.line, expected: `${item?.name}:${wanted} in ${outcome.name}`, found },
    ];
  });
}

function checkBatch(program: Program, { values, line }: Return, given: Set<string>): Complaint[] {
  const [value] = values;
  const built = value === undefined ? undefined : builtTable(program, value);
  if (values.length !== 1 || built?.value.items.length !== 0) {
    const found = quoteLine(program.script, line);
    return [{ file: program.script.file, line, expected: 'the list of outcomes, begun as `{}`', found }];
  }
  return checkElements(program, built, 'outcome', given);
}

interface Built {
  readonly declaration: Declaration;
  readonly value: Table;
}

/** A local that begins as a table and is then filled by index. */
function builtTable({ script }: Program, expression: Expression): Built | undefined {
  const declaration = expression.kind === 'name' ? script.names.declarationOf(expression) : undefined;
  if (declaration?.value?.kind !== 'table' || declaration.writes.length > 0) return undefined;
  return { declaration, value: declaration.value };
}

/** Looks at every `reply[i] = value`. */
function checkElements(
  program: Program,
  built: Built,
  wanted: 'string' | 'outcome',
  given?: Set<string>,
): Complaint[] {
  const { script } = program;
  const complaints: Complaint[] = [];
  for (const statement of statementsOf(script.block, true)) {
    if (statement.kind !== 'assignment') continue;
    for (const [index, target] of statement.targets.entries()) {
      if (target.kind !== 'index' || target.object.kind !== 'name') continue;
      if (script.names.declarationOf(target.object) !== built.declaration) continue;
      const value = statement.values[index];
      const outcome = outcomeOf(program, value);
      const told = outcome ?? namedOutcome(program, value);
      if (told) given?.add(told.name);
      const kind = value === undefined ? 'nil' : kindOf(value, script.names);
      const isRight = wanted === 'outcome' ? told !== undefined : kind === 'string' || kind === 'unknown';
      if (isRight) continue;
      const expected = wanted === 'outcome' ? 'an outcome of the header' : 'a string';
      complaints.push({
        file: script.file,
        line: statement.line,
        expected,
        found: quoteLine(script, statement.line),
      });
    }
  }
  return complaints;
}

/** The outcome of a batch that comes as a string: its name, a space, and the payload. */
function namedOutcome({ header }: Program, value: Expression | undefined): Outcome | undefined {
  if (!header.isBatch || value?.kind !== 'operation' || value.operator !== '..') return undefined;
  const [name] = value.operands;
  if (name?.kind !== 'literal' || name.type !== 'string') return undefined;
  return header.outcomes.find((outcome) => outcome.payload.length > 0 && name.value === `${outcome.name} `);
}

function outcomeOf({ header, script }: Program, expression: Expression | undefined): Outcome | undefined {
  const declaration = expression?.kind === 'name' ? script.names.declarationOf(expression) : undefined;
  if (declaration?.role !== 'outcome') return undefined;
  return header.outcomes.find(({ name }) => name === declaration.name);
}
