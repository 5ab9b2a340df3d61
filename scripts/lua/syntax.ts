/** The part of Lua that our scripts are written in, as a tree. */

export interface Literal {
  readonly kind: 'literal';
  readonly line: number;
  readonly type: 'nil' | 'boolean' | 'number' | 'string';
  /** As written, a string without its quotes. */
  readonly value: string;
}

export interface Name {
  readonly kind: 'name';
  readonly line: number;
  readonly name: string;
}

/** `object[key]`; `object.key` is the same with a literal string. */
export interface Index {
  readonly kind: 'index';
  readonly line: number;
  readonly object: Expression;
  readonly key: Expression;
}

export interface Call {
  readonly kind: 'call';
  readonly line: number;
  readonly callee: Expression;
  readonly args: readonly Expression[];
}

export interface Table {
  readonly kind: 'table';
  readonly line: number;
  readonly items: readonly { readonly key: Expression | null; readonly value: Expression }[];
}

export interface Operation {
  readonly kind: 'operation';
  readonly line: number;
  readonly operator: string;
  /** One operand or two. */
  readonly operands: readonly Expression[];
}

/** Not noise: `(f())` is one value where `f()` may be several. */
export interface Parentheses {
  readonly kind: 'parentheses';
  readonly line: number;
  readonly inner: Expression;
}

export type Expression = Literal | Name | Index | Call | Table | Operation | Parentheses;

export interface Local {
  readonly kind: 'local';
  readonly line: number;
  readonly names: readonly Name[];
  readonly values: readonly Expression[];
}

export interface LocalFunction {
  readonly kind: 'function';
  readonly line: number;
  readonly name: Name;
  readonly parameters: readonly Name[];
  readonly body: Block;
}

export interface Assignment {
  readonly kind: 'assignment';
  readonly line: number;
  readonly targets: readonly (Name | Index)[];
  readonly values: readonly Expression[];
}

export interface CallStatement {
  readonly kind: 'do-call';
  readonly line: number;
  readonly call: Call;
}

export interface If {
  readonly kind: 'if';
  readonly line: number;
  readonly clauses: readonly { readonly condition: Expression | null; readonly body: Block }[];
}

export interface While {
  readonly kind: 'while';
  readonly line: number;
  readonly condition: Expression;
  readonly body: Block;
}

/** `for i = from, to do` has two or three values, `for k, v in pairs(t) do` has `isIn`. */
export interface For {
  readonly kind: 'for';
  readonly line: number;
  readonly isIn: boolean;
  readonly names: readonly Name[];
  readonly values: readonly Expression[];
  readonly body: Block;
}

export interface Return {
  readonly kind: 'return';
  readonly line: number;
  readonly values: readonly Expression[];
}

export interface Break {
  readonly kind: 'break';
  readonly line: number;
}

export type Statement =
  | Local
  | LocalFunction
  | Assignment
  | CallStatement
  | If
  | While
  | For
  | Return
  | Break;

export type Block = readonly Statement[];
