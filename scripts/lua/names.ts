import type { Block, Expression, LocalFunction, Name, Statement } from './syntax.ts';
import { expressionsOf, withParts } from './traverse.ts';

/** The declaration of a name. */
export interface Declaration {
  readonly role: 'local' | 'function' | 'parameter' | 'loop' | 'outcome';
  readonly name: string;
  readonly line: number;
  /** The initial value of a local; null when one expression initialises several locals. */
  readonly value: Expression | null;
  /** The function itself, or the function that a parameter belongs to. */
  readonly owner: LocalFunction | null;
  /** The index of a parameter, from 0. */
  readonly position: number;
  readonly reads: Name[];
  readonly writes: Name[];
}

/** The declarations of one Lua file and the names that refer to them. Undeclared names are absent. */
export interface Names {
  readonly declarations: readonly Declaration[];
  /** Declarations outside of any block, which scripts that include the file can use. */
  readonly top: readonly Declaration[];
  declarationOf(name: Name): Declaration | undefined;
}

type Scope = Map<string, Declaration>;

export function declare(role: Declaration['role'], name: string, line: number): Declaration {
  return { role, name, line, value: null, owner: null, position: 0, reads: [], writes: [] };
}

/** Resolves every name of a file; `outer` are the declarations of the header and of included files. */
export function resolveNames(block: Block, outer: readonly Declaration[]): Names {
  const resolver = new Resolver();
  const scope: Scope = new Map(outer.map((declaration) => [declaration.name, declaration]));
  resolver.block(block, [scope, new Map()]);
  return {
    declarations: resolver.declarations,
    top: resolver.top,
    declarationOf: (name) => resolver.found.get(name),
  };
}

class Resolver {
  readonly declarations: Declaration[] = [];
  readonly top: Declaration[] = [];
  readonly found = new Map<Name, Declaration>();

  block(block: Block, scopes: readonly Scope[]): void {
    for (const statement of block) this.#statement(statement, scopes);
  }

  #statement(statement: Statement, scopes: readonly Scope[]): void {
    const targets: Expression[] = statement.kind === 'assignment' ? [...statement.targets] : [];
    for (const expression of expressionsOf(statement)) {
      const isTarget = targets.includes(expression) && expression.kind === 'name';
      for (const part of withParts(expression)) {
        if (part.kind === 'name') this.#use(part, isTarget, scopes);
      }
    }
    switch (statement.kind) {
      case 'local':
        for (const [index, { name, line }] of statement.names.entries()) {
          const isPaired = statement.values.length === statement.names.length;
          const value = isPaired ? (statement.values[index] ?? null) : null;
          this.#add({ ...declare('local', name, line), value }, scopes);
        }
        break;
      case 'function': {
        const { name, line } = statement.name;
        this.#add({ ...declare('function', name, line), owner: statement }, scopes);
        const inner = [...scopes, new Map()];
        for (const [position, parameter] of statement.parameters.entries()) {
          const declaration = declare('parameter', parameter.name, parameter.line);
          this.#add({ ...declaration, owner: statement, position }, inner);
        }
        this.block(statement.body, inner);
        break;
      }
      case 'for': {
        const inner = [...scopes, new Map()];
        for (const { name, line } of statement.names) this.#add(declare('loop', name, line), inner);
        this.block(statement.body, inner);
        break;
      }
      case 'while':
        this.block(statement.body, [...scopes, new Map()]);
        break;
      case 'if':
        for (const { body } of statement.clauses) this.block(body, [...scopes, new Map()]);
        break;
    }
  }

  #add(declaration: Declaration, scopes: readonly Scope[]): void {
    scopes.at(-1)?.set(declaration.name, declaration);
    this.declarations.push(declaration);
    if (scopes.length === 2) this.top.push(declaration);
  }

  #use(name: Name, isTarget: boolean, scopes: readonly Scope[]): void {
    const declaration = scopes.findLast((scope) => scope.has(name.name))?.get(name.name);
    if (declaration === undefined) return;
    this.found.set(name, declaration);
    (isTarget ? declaration.writes : declaration.reads).push(name);
  }
}
