import { LuaComplaint } from './complaint.ts';
import { type Token, tokenize } from './lexer.ts';
import type {
  Assignment,
  Block,
  CallStatement,
  Expression,
  For,
  If,
  Local,
  LocalFunction,
  Name,
  Return,
  Statement,
  Table,
  While,
} from './syntax.ts';

/** Left and right binding power: right lower than left binds to the right. */
const BINARY: ReadonlyMap<string, readonly [number, number]> = new Map([
  ['or', [1, 1]],
  ['and', [2, 2]],
  ['<', [3, 3]],
  ['>', [3, 3]],
  ['<=', [3, 3]],
  ['>=', [3, 3]],
  ['~=', [3, 3]],
  ['==', [3, 3]],
  ['..', [5, 4]],
  ['+', [6, 6]],
  ['-', [6, 6]],
  ['*', [7, 7]],
  ['/', [7, 7]],
  ['%', [7, 7]],
  ['^', [10, 9]],
]);
const UNARY_POWER = 8;
const UNARY = new Set(['not', '-', '#']);
const BLOCK_ENDS = new Set(['end', 'else', 'elseif', 'the end of the file']);

/** Parses a Lua text. Throws a `LuaComplaint` on anything outside the part of Lua that we use. */
export function parse(file: string, text: string, firstLine: number): Block {
  const parser = new Parser(file, tokenize(file, text, firstLine));
  return parser.program();
}

class Parser {
  readonly #file: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(file: string, tokens: readonly Token[]) {
    this.#file = file;
    this.#tokens = tokens;
  }

  program(): Block {
    const block = this.#block();
    if (this.#token.kind !== 'end') this.#refuse('the end of the file');
    return block;
  }

  get #token(): Token {
    const token = this.#tokens[Math.min(this.#at, this.#tokens.length - 1)];
    if (token === undefined) throw new Error('a token list always ends with an end token');
    return token;
  }

  #refuse(expected: string): never {
    const { line, text } = this.#token;
    throw new LuaComplaint({ file: this.#file, line, expected, found: `\`${text}\`` });
  }

  #next(): Token {
    const token = this.#token;
    this.#at++;
    return token;
  }

  /** A string token keeps its quotes, so text alone tells a word from a string. */
  #is(text: string): boolean {
    return this.#token.text === text;
  }

  #take(text: string): boolean {
    const isIt = this.#is(text);
    if (isIt) this.#at++;
    return isIt;
  }

  #expect(text: string): void {
    if (!this.#take(text)) this.#refuse(`\`${text}\``);
  }

  #name(): Name {
    if (this.#token.kind !== 'name') this.#refuse('a name');
    const { text, line } = this.#next();
    return { kind: 'name', line, name: text };
  }

  #list<Item>(item: () => Item): Item[] {
    const items = [item()];
    while (this.#take(',')) items.push(item());
    return items;
  }

  #expressions(): Expression[] {
    return this.#list(() => this.#expression(0));
  }

  #block(): Statement[] {
    const statements: Statement[] = [];
    while (!BLOCK_ENDS.has(this.#token.text)) {
      const statement = this.#statement();
      statements.push(statement);
      this.#take(';');
      if (statement.kind === 'return' || statement.kind === 'break') break;
    }
    return statements;
  }

  #statement(): Statement {
    switch (this.#token.kind === 'keyword' ? this.#token.text : '') {
      case 'local':
        return this.#local();
      case 'if':
        return this.#if();
      case 'for':
        return this.#for();
      case 'while':
        return this.#while();
      case 'return':
        return this.#return();
      case 'break':
        return { kind: 'break', line: this.#next().line };
      case '':
        return this.#assignmentOrCall();
      default:
        return this.#refuse('a statement that our scripts use (local, if, for, while, return, a call)');
    }
  }

  #local(): Local | LocalFunction {
    const { line } = this.#next();
    if (this.#take('function')) {
      const name = this.#name();
      this.#expect('(');
      const parameters = this.#is(')') ? [] : this.#list(() => this.#name());
      this.#expect(')');
      const body = this.#block();
      this.#expect('end');
      return { kind: 'function', line, name, parameters, body };
    }
    const names = this.#list(() => this.#name());
    return { kind: 'local', line, names, values: this.#take('=') ? this.#expressions() : [] };
  }

  #if(): If {
    const { line } = this.#token;
    const clauses: { condition: Expression | null; body: Block }[] = [];
    while (this.#take('if') || this.#take('elseif')) {
      const condition = this.#expression(0);
      this.#expect('then');
      clauses.push({ condition, body: this.#block() });
    }
    if (this.#take('else')) clauses.push({ condition: null, body: this.#block() });
    this.#expect('end');
    return { kind: 'if', line, clauses };
  }

  #for(): For {
    const { line } = this.#next();
    const names = this.#list(() => this.#name());
    const isIn = this.#take('in');
    if (!isIn) this.#expect('=');
    const values = this.#expressions();
    this.#expect('do');
    const body = this.#block();
    this.#expect('end');
    return { kind: 'for', line, isIn, names, values, body };
  }

  #while(): While {
    const { line } = this.#next();
    const condition = this.#expression(0);
    this.#expect('do');
    const body = this.#block();
    this.#expect('end');
    return { kind: 'while', line, condition, body };
  }

  #return(): Return {
    const { line } = this.#next();
    const isBare = BLOCK_ENDS.has(this.#token.text) || this.#is(';');
    return { kind: 'return', line, values: isBare ? [] : this.#expressions() };
  }

  #assignmentOrCall(): Assignment | CallStatement {
    const { line } = this.#token;
    const first = this.#suffixed();
    if (first.kind === 'call') return { kind: 'do-call', line, call: first };
    const targets: Expression[] = [first];
    while (this.#take(',')) targets.push(this.#suffixed());
    if (!targets.every((target) => target.kind === 'name' || target.kind === 'index')) {
      return this.#refuse('an assignment or a call');
    }
    this.#expect('=');
    return { kind: 'assignment', line, targets, values: this.#expressions() };
  }

  #expression(power: number): Expression {
    let left = this.#operand();
    for (;;) {
      const { text, line } = this.#token;
      const binding = BINARY.get(text);
      if (binding === undefined || binding[0] <= power) return left;
      this.#at++;
      left = { kind: 'operation', line, operator: text, operands: [left, this.#expression(binding[1])] };
    }
  }

  #operand(): Expression {
    const { kind, text, line } = this.#token;
    if (UNARY.has(text)) {
      this.#at++;
      return { kind: 'operation', line, operator: text, operands: [this.#expression(UNARY_POWER)] };
    }
    if (kind === 'number') return { kind: 'literal', type: 'number', value: this.#next().text, line };
    if (kind === 'string')
      return { kind: 'literal', type: 'string', value: this.#next().text.slice(1, -1), line };
    if (this.#take('nil')) return { kind: 'literal', type: 'nil', value: text, line };
    if (this.#take('true') || this.#take('false'))
      return { kind: 'literal', type: 'boolean', value: text, line };
    if (this.#is('{')) return this.#table();
    return this.#suffixed();
  }

  #suffixed(): Expression {
    const { line } = this.#token;
    let expression: Expression;
    if (this.#take('(')) {
      expression = { kind: 'parentheses', line, inner: this.#expression(0) };
      this.#expect(')');
    } else {
      expression = this.#name();
    }
    for (;;) {
      const at = this.#token.line;
      if (this.#take('.')) {
        const { name } = this.#name();
        const key = { kind: 'literal', type: 'string', value: name, line: at } as const;
        expression = { kind: 'index', line: at, object: expression, key };
      } else if (this.#take('[')) {
        expression = { kind: 'index', line: at, object: expression, key: this.#expression(0) };
        this.#expect(']');
      } else if (this.#take('(')) {
        const args = this.#is(')') ? [] : this.#expressions();
        this.#expect(')');
        expression = { kind: 'call', line: at, callee: expression, args };
      } else {
        return expression;
      }
    }
  }

  #table(): Table {
    const { line } = this.#next();
    const items: { key: Expression | null; value: Expression }[] = [];
    while (!this.#take('}')) {
      items.push(this.#tableItem());
      if (!this.#take(',') && !this.#is('}')) this.#refuse('`,` or `}`');
    }
    return { kind: 'table', line, items };
  }

  #tableItem(): { key: Expression | null; value: Expression } {
    const { kind, line } = this.#token;
    if (this.#take('[')) {
      const key = this.#expression(0);
      this.#expect(']');
      this.#expect('=');
      return { key, value: this.#expression(0) };
    }
    const following = this.#tokens[this.#at + 1];
    if (kind === 'name' && following?.text === '=') {
      const value = this.#next().text;
      this.#expect('=');
      return { key: { kind: 'literal', type: 'string', value, line }, value: this.#expression(0) };
    }
    return { key: null, value: this.#expression(0) };
  }
}
