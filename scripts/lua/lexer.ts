import { LuaComplaint } from './complaint.ts';

export interface Token {
  readonly kind: 'name' | 'keyword' | 'number' | 'string' | 'symbol' | 'end';
  /** As written; a string keeps its quotes. */
  readonly text: string;
  readonly line: number;
}

const KEYWORDS = new Set(
  (
    'and break do else elseif end false for function if in local nil not or repeat return then true ' +
    'until while'
  ).split(' '),
);

const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s+)`,
    String.raw`(?<comment>--(?!\[=*\[)[^\n]*)`,
    String.raw`(?<name>[A-Za-z_]\w*)`,
    String.raw`(?<number>0[xX][\da-fA-F]+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)`,
    String.raw`(?<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")`,
    String.raw`(?<symbol>\.\.|==|~=|<=|>=|(?!\[=*\[)\[|[-+*/%^#<>=(){}\];:,.])`,
  ].join('|'),
  'y',
);

interface Piece {
  readonly kind: string;
  readonly text: string;
  readonly line: number;
}

/**
 * Long brackets (`[[`, `--[[`) and varargs are refused: our scripts need neither, and without them a line of
 * the file is a line of the program, which keeps comment stripping safe.
 */
function* pieces(file: string, text: string, firstLine: number): Generator<Piece> {
  let line = firstLine;
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length; ) {
    const start = TOKEN.lastIndex;
    const groups = TOKEN.exec(text)?.groups;
    if (groups === undefined) {
      const found = `\`${text.slice(start, start + 20).split('\n')[0]}\``;
      throw new LuaComplaint({ file, line, expected: 'Lua without long brackets or varargs', found });
    }
    const [kind = '', piece = ''] = Object.entries(groups).find(([, value]) => value !== undefined) ?? [];
    const end = TOKEN.lastIndex;
    yield { kind, text: piece, line };
    TOKEN.lastIndex = end;
    line += piece.split('\n').length - 1;
  }
}

/** The tokens of a Lua text, ended by one of kind `end`. Lines count from `firstLine`. */
export function tokenize(file: string, text: string, firstLine: number): Token[] {
  const tokens: Token[] = [];
  for (const { kind, text: piece, line } of pieces(file, text, firstLine)) {
    if (kind === 'space' || kind === 'comment') continue;
    const isKeyword = kind === 'name' && KEYWORDS.has(piece);
    tokens.push({ kind: isKeyword ? 'keyword' : (kind as Token['kind']), text: piece, line });
  }
  const last = firstLine + text.split('\n').length - 1;
  return [...tokens, { kind: 'end', text: 'the end of the file', line: last }];
}

/** The same program without comments, blank lines and trailing spaces. */
export function stripComments(file: string, text: string): string {
  let code = '';
  for (const piece of pieces(file, text, 1)) if (piece.kind !== 'comment') code += piece.text;
  return code
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => `${line}\n`)
    .join('');
}
