import { commandOf, isRedisCall } from './commands.ts';
import type { Names } from './names.ts';
import type { Call, Expression, LocalFunction, Return } from './syntax.ts';
import { dottedName, statementsOf } from './traverse.ts';

/** The type of a value, as far as it is known without running the script. */
export type Kind = 'integer' | 'string' | 'array' | 'status' | 'boolean' | 'nil' | 'unknown';

const LIBRARY: Readonly<Record<string, Kind>> = {
  tonumber: 'integer',
  type: 'string',
  'redis.acl_check_cmd': 'boolean',
  'redis.sha1hex': 'string',
  'math.floor': 'integer',
  'math.max': 'integer',
  'math.min': 'integer',
  'string.format': 'string',
  'string.sub': 'string',
};

const OPERATORS: Readonly<Record<string, Kind>> = {
  ...{ '+': 'integer', '-': 'integer', '*': 'integer', '/': 'integer', '%': 'integer', '#': 'integer' },
  ...{ '==': 'boolean', '~=': 'boolean', '<': 'boolean', '<=': 'boolean', '>': 'boolean', '>=': 'boolean' },
  ...{ not: 'boolean', '..': 'string' },
};

export function kindOf(expression: Expression, names: Names): Kind {
  switch (expression.kind) {
    case 'literal':
      return expression.type === 'number' ? 'integer' : expression.type;
    case 'table':
      return 'array';
    case 'parentheses':
      return kindOf(expression.inner, names);
    case 'operation':
      if (expression.operator !== 'or') return OPERATORS[expression.operator] ?? 'unknown';
      return commonKind(expression.operands.map((operand) => kindOf(operand, names)));
    case 'call':
      return kindOfCall(expression);
    case 'name': {
      const declaration = names.declarationOf(expression);
      if (declaration?.role === 'outcome') return 'integer';
      if (!declaration?.value || declaration.writes.length > 0) return 'unknown';
      return kindOf(declaration.value, names);
    }
    case 'index':
      return 'unknown';
  }
}

/** Whether a call surely returns exactly one value. Where several values fit, another call might return more. */
export function givesOneValue(call: Call, names: Names): boolean {
  if (isRedisCall(call)) return true;
  if (call.callee.kind === 'name') {
    const own = names.declarationOf(call.callee)?.owner;
    if (own)
      return (
        own.body.at(-1)?.kind === 'return' && returnsOf(own).every(({ values }) => isOneValue(values, names))
      );
  }
  return Object.hasOwn(LIBRARY, dottedName(call.callee));
}

function isOneValue(values: readonly Expression[], names: Names): boolean {
  const [only, ...more] = values;
  if (only === undefined || more.length > 0) return false;
  return only.kind !== 'call' || givesOneValue(only, names);
}

function kindOfCall(call: Call): Kind {
  const name = dottedName(call.callee);
  // redis.pcall may return an error instead of the command's reply.
  if (name === 'redis.call') return commandOf(call)?.reply ?? 'unknown';
  return Object.hasOwn(LIBRARY, name) ? (LIBRARY[name] ?? 'unknown') : 'unknown';
}

function commonKind(kinds: readonly Kind[]): Kind {
  const [first = 'unknown', ...others] = kinds;
  return others.every((kind) => kind === first) ? first : 'unknown';
}

function returnsOf(owner: LocalFunction): Return[] {
  return [...statementsOf(owner.body, false)].filter((statement) => statement.kind === 'return');
}
