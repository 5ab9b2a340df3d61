import type { Block, Call, Expression, Statement } from './syntax.ts';

/** The blocks inside a statement. */
function blocksOf(statement: Statement): Block[] {
  switch (statement.kind) {
    case 'if':
      return statement.clauses.map(({ body }) => body);
    case 'function':
    case 'while':
    case 'for':
      return [statement.body];
    default:
      return [];
  }
}

/** Every statement of a block, nested ones included; those in bodies of functions only `withFunctions`. */
export function* statementsOf(block: Block, withFunctions: boolean): Generator<Statement> {
  for (const statement of block) {
    yield statement;
    if (statement.kind === 'function' && !withFunctions) continue;
    for (const inner of blocksOf(statement)) yield* statementsOf(inner, withFunctions);
  }
}

/** The expressions of a statement itself, without those of its blocks. */
export function expressionsOf(statement: Statement): readonly Expression[] {
  switch (statement.kind) {
    case 'local':
    case 'for':
    case 'return':
      return statement.values;
    case 'assignment':
      return [...statement.targets, ...statement.values];
    case 'do-call':
      return [statement.call];
    case 'if':
      return statement.clauses.flatMap(({ condition }) => condition ?? []);
    case 'while':
      return [statement.condition];
    default:
      return [];
  }
}

/** The expressions directly inside another. */
function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'index':
      return [expression.object, expression.key];
    case 'call':
      return [expression.callee, ...expression.args];
    case 'table':
      return expression.items.flatMap(({ key, value }) => (key === null ? [value] : [key, value]));
    case 'operation':
      return expression.operands;
    case 'parentheses':
      return [expression.inner];
    default:
      return [];
  }
}

/** An expression and everything in it. */
export function* withParts(expression: Expression): Generator<Expression> {
  yield expression;
  for (const part of partsOf(expression)) yield* withParts(part);
}

/** Every expression of a block, at any depth. */
export function* allExpressions(block: Block): Generator<Expression> {
  for (const statement of statementsOf(block, true)) {
    for (const expression of expressionsOf(statement)) yield* withParts(expression);
  }
}

export function callsOf(block: Block): Call[] {
  return [...allExpressions(block)].filter((expression) => expression.kind === 'call');
}

/** `redis.call` for the expression `redis.call`, empty for anything that is not a dotted name. */
export function dottedName(expression: Expression): string {
  if (expression.kind === 'name') return expression.name;
  if (expression.kind !== 'index' || expression.object.kind !== 'name') return '';
  return expression.key.kind === 'literal' && expression.key.type === 'string'
    ? `${expression.object.name}.${expression.key.value}`
    : '';
}
