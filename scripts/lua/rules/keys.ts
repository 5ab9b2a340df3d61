import { isRedisCall, isRedisFunction, keysOf } from '../commands.ts';
import type { Complaint } from '../complaint.ts';
import type { Declaration } from '../names.ts';
import { type Program, quoteLine, type Rule, type Unit, unitsOf } from '../program.ts';
import type { Call, Expression } from '../syntax.ts';
import { allExpressions, callsOf, dottedName } from '../traverse.ts';

/** A place where an expression must be one of the header's keys. */
interface Demand {
  readonly unit: Unit;
  readonly call: Call;
  readonly key: Expression | undefined;
}

/**
 * Every key that a command touches is one of the header's. A function may take a key as a parameter; then each
 * call of it must pass one, and so on up to the script's own lines.
 *
 * A key that a script makes itself stands in its header too (`@beside`): it is for something that can be done without. So it
 * is touched by pcall only, because a user may lack the right to it, or a slot that moves may have it elsewhere already.
 *
 * A script that walks over keys finds them itself. It says so by the flag that a cluster asks for, and must not write.
 */
export const checkKeys: Rule = (program) => {
  const keys = new Set(boundKeys(program));
  const calls = unitsOf(program).flatMap((unit) => callsOf(unit.block).map((call) => ({ unit, call })));
  const demands = calls.flatMap(({ unit, call }): Demand[] =>
    isRedisCall(call) && !isWalk(program) ? keysOf(call).map((key) => ({ unit, call, key })) : [],
  );
  const complaints: Complaint[] = [...rewritten(program.script, keys), ...passedAround(program)];
  const seen = new Set<Declaration>();
  const touched = new Set<string>();
  // The loop appends to its own list: a parameter used as a key makes a demand on every caller.
  for (const { unit, call, key } of demands) {
    const declaration = key?.kind === 'name' ? unit.names.declarationOf(key) : undefined;
    if (declaration !== undefined && keys.has(declaration)) continue;
    if (declaration !== undefined && isBeside(program, declaration)) {
      touched.add(declaration.name);
      complaints.push(...notByPcall(unit, call));
      continue;
    }
    if (declaration?.role !== 'parameter' || declaration.writes.length > 0) {
      const expected = `a key of the header (${program.header.keys.map(({ name }) => name).join(', ')})`;
      complaints.push({ file: unit.file, line: call.line, expected, found: quoteLine(unit, call.line) });
    } else if (!seen.has(declaration)) {
      seen.add(declaration);
      for (const caller of calls) {
        const { callee, args } = calledBy(caller.call);
        if (functionOf(caller.unit, callee) !== declaration.owner) continue;
        demands.push({ ...caller, key: args[declaration.position] });
      }
    }
  }
  return [...complaints, ...untouched(program, touched)];
};

/** A local that is made by a call and has the name that the header gives to a key beside the others. */
function isBeside({ header }: Program, { name, role, value, writes }: Declaration): boolean {
  if (role !== 'local' || value?.kind !== 'call' || writes.length > 0) return false;
  return header.besides.some((beside) => beside.name === name);
}

function notByPcall(unit: Unit, call: Call): Complaint[] {
  if (dottedName(call.callee) === 'redis.pcall') return [];
  const expected = 'redis.pcall for a key that the script makes itself';
  return [{ file: unit.file, line: call.line, expected, found: quoteLine(unit, call.line) }];
}

function untouched({ header, script }: Program, touched: ReadonlySet<string>): Complaint[] {
  return header.besides
    .filter(({ name }) => !touched.has(name))
    .map(({ name }) => ({
      file: script.file,
      line: header.lines,
      expected: `a command on the key \`${name}\`, which the header declares`,
      found: 'none',
    }));
}

function isWalk({ header: { flags } }: Program): boolean {
  return flags.includes('allow-cross-slot-keys') && flags.includes('no-writes');
}

function boundKeys({ header, script }: Program): Declaration[] {
  return script.names.declarations.filter(({ name, value }) => {
    const isFromKeys =
      value?.kind === 'index' && value.object.kind === 'name' && value.object.name === 'KEYS';
    return isFromKeys && header.keys.some((key) => key.name === name);
  });
}

/** What a call calls, and with what: `pcall(f, a)` calls `f` with `a`. */
function calledBy({ callee, args }: Call): Pick<Call, 'callee' | 'args'> {
  const [called, ...rest] = args;
  if (dottedName(callee) !== 'pcall' || called?.kind !== 'name') return { callee, args };
  return { callee: called, args: rest };
}

function functionOf(unit: Unit, callee: Expression): Declaration['owner'] | undefined {
  if (callee.kind !== 'name') return undefined;
  const declaration = unit.names.declarationOf(callee);
  return declaration?.role === 'function' ? declaration.owner : undefined;
}

function rewritten(script: Unit, keys: ReadonlySet<Declaration>): Complaint[] {
  return [...keys].flatMap(({ name, writes }) =>
    writes.map(({ line }) => ({
      file: script.file,
      line,
      expected: `the key \`${name}\` to stay what it is`,
      found: quoteLine(script, line),
    })),
  );
}

/** A function kept in a variable or a table could be called with anything. */
function passedAround(program: Program): Complaint[] {
  return unitsOf(program).flatMap((unit) => {
    const expressions = [...allExpressions(unit.block)];
    const callees = new Set(callsOf(unit.block).map((call) => calledBy(call).callee));
    return expressions.flatMap((expression): Complaint[] => {
      const own = expression.kind === 'name' && unit.names.declarationOf(expression)?.role === 'function';
      if (callees.has(expression) || !(own || isRedisFunction(expression))) return [];
      const expected = `\`${dottedName(expression)}\` to be called, not passed around`;
      return [{ file: unit.file, line: expression.line, expected, found: quoteLine(unit, expression.line) }];
    });
  });
}
