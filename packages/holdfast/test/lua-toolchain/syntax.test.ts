import { expect, test } from 'vitest';
import { stripComments } from '../../../../scripts/lua/lexer.ts';
import { parse } from '../../../../scripts/lua/parser.ts';
import { complaintsWith } from './fixture.ts';

/** An expression with every operation in brackets, so that its shape can be read. */
function shape(text: string): string {
  const [statement] = parse('shape.lua', `return ${text}`, 1);
  const show = (expression: unknown): string => {
    const { kind, operator, operands, name, value } = expression as Record<string, unknown>;
    if (kind !== 'operation') return String(name ?? value);
    const parts = (operands as unknown[]).map(show);
    return parts.length === 1 ? `(${operator} ${parts[0]})` : `(${parts.join(` ${operator} `)})`;
  };
  return statement?.kind === 'return' ? show(statement.values[0]) : '';
}

test('operators bind as in Lua', () => {
  expect(shape('a or b and c')).toBe('(a or (b and c))');
  expect(shape('a + b * c - d')).toBe('((a + (b * c)) - d)');
  expect(shape('not a == b')).toBe('((not a) == b)');
  expect(shape('a .. b .. c')).toBe('(a .. (b .. c))');
  expect(shape('-a ^ b ^ c')).toBe('(- (a ^ (b ^ c)))');
  expect(shape('a < b + 1 and #c >= 2')).toBe('((a < (b + 1)) and ((# c) >= 2))');
});

test('every statement we use is understood', () => {
  const text = `
    local a, b = 1, { 2, x = 3, ['y'] = 4 };
    local function f(p, q) return p, q end
    a, b.x = b['y'], (f(1, 2))
    while a < 10 do a = a + 1 if a == 5 then break end end
    for i = 1, 10, 2 do f(i, "it's") end
    for k, v in f(a, b) do f(k, v) end
    if a then return elseif b then f(1, 2) else f(2, 1) end
    return a`;
  const kinds = parse('all.lua', text, 1).map(({ kind }) => kind);
  expect(kinds).toEqual(['local', 'function', 'assignment', 'while', 'for', 'for', 'if', 'return']);
});

test('what cannot be parsed is refused with its place', () => {
  expect(complaintsWith('thing/take.lua', "('GET', thing)", "('GET', thing")).toEqual([
    'thing/take.lua:18: expected `)`, found `if`',
  ]);
  expect(complaintsWith('thing/take.lua', 'return { GRANTED', 'end\nreturn { GRANTED')).toEqual([
    'thing/take.lua:21: expected the end of the file, found `end`',
  ]);
});

test('long brackets are refused', () => {
  for (const long of ['--[[ note ]]', '--[==[ note ]==]', 'local x = [[note]]']) {
    expect(complaintsWith('thing/take.lua', 'note(', `${long}\nnote(`)).toEqual([
      expect.stringContaining('thing/take.lua:20: expected Lua without long brackets or varargs'),
    ]);
  }
});

test('comments are stripped, and what only looks like one is kept', () => {
  const text = "-- Why.\nlocal a = '-- not' -- but this\n\nlocal b = \"it's -- not\" -- it is\n";
  expect(stripComments('strip.lua', text)).toBe("local a = '-- not'\nlocal b = \"it's -- not\"\n");
});
