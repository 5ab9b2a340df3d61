/** Errors of scripts: tables with a field `err`. A handler adds the line of the script that raised the error. */

import { ErrorReply } from '../protocol/reply.ts';
import { LUA_REGISTRY, LUA_TYPE, type LuaModule, type LuaState } from './lua-module.ts';
import type { LuaStack } from './lua-stack.ts';

/** The size of the C struct `lua_Debug`, and the offsets of the fields that are read. */
const RECORD_BYTES = 100;
const WHAT_AT = 12;
const SOURCE_AT = 16;
const LINE_AT = 20;

export class ScriptErrors {
  readonly #module: LuaModule;
  readonly #stack: LuaStack;
  readonly #state: LuaState;
  readonly #handler: number;
  readonly #record: number;
  readonly #keys: Readonly<Record<'err' | 'source' | 'line', number>>;

  constructor(stack: LuaStack, state: LuaState) {
    this.#module = stack.module;
    this.#stack = stack;
    this.#state = state;
    this.#record = stack.module._malloc(RECORD_BYTES);
    this.#module._lua_pushcclosure(
      state,
      this.#module.addFunction((failing) => this.#handle(failing), 'ii'),
      0,
    );
    this.#handler = stack.keep(state);
    const keep = (name: string): number => {
      stack.pushString(state, name);
      return stack.keep(state);
    };
    this.#keys = { err: keep('err'), source: keep('source'), line: keep('line') };
  }

  pushHandler(): void {
    this.#module._lua_rawgeti(this.#state, LUA_REGISTRY, this.#handler);
  }

  /** The table that `redis.pcall` returns and `redis.call` raises. */
  push(state: LuaState, text: string): void {
    this.#module._lua_createtable(state, 0, 2);
    this.#stack.pushString(state, text);
    this.#module._lua_setfield(state, -2, this.#stack.name('err'));
    this.#module._lua_pushboolean(state, 1);
    this.#module._lua_setfield(state, -2, this.#stack.name('ignore_error_stats_update'));
  }

  /** The reply for an uncaught error, which is on top of the stack. */
  take(sha: string): ErrorReply {
    if (this.#module._lua_type(this.#state, -1) !== LUA_TYPE.table) {
      return new ErrorReply(
        `ERR Error running script ${sha}, ${this.#stack.toBytes(this.#state, -1) ?? 'execution failure'}`,
      );
    }
    const text = this.#stack.fieldBytes(this.#state, this.#keys.err) ?? 'ERR unknown error';
    const source = this.#stack.fieldBytes(this.#state, this.#keys.source);
    const line = this.#stack.fieldBytes(this.#state, this.#keys.line);
    const place = source === null || line === null ? '' : ` script: ${sha}, on ${source}:${line}.`;
    return new ErrorReply(oneLine(text + place));
  }

  /** The error handler. Lua calls it before the stack is unwound, so the place is still known. */
  #handle(state: LuaState): number {
    const module = this.#module;
    if (module._lua_type(state, 1) !== LUA_TYPE.table) {
      const text = this.#describe(state);
      module._lua_settop(state, 0);
      module._lua_createtable(state, 0, 3);
      this.#stack.pushString(state, `ERR ${text}`);
      module._lua_setfield(state, -2, this.#stack.name('err'));
    }
    // Level 0 is this handler. Level 1 raised the error; if that is a C function such as `error` or `redis.call`, level 2
    // is the line of the script that called it.
    const level = this.#look(state, 1) === 'C' ? 2 : 1;
    if (this.#look(state, level) !== null) {
      const heap = module.HEAPU32;
      this.#stack.pushString(state, this.#stack.textAt(heap[(this.#record + SOURCE_AT) / 4] as number));
      module._lua_setfield(state, 1, this.#stack.name('source'));
      this.#stack.pushString(state, String((heap[(this.#record + LINE_AT) / 4] as number) | 0));
      module._lua_setfield(state, 1, this.#stack.name('line'));
    }
    module._lua_settop(state, 1);
    return 1;
  }

  #describe(state: LuaState): string {
    const type = this.#module._lua_type(state, 1);
    if (type === LUA_TYPE.boolean) return this.#module._lua_toboolean(state, 1) === 1 ? 'true' : 'false';
    return this.#stack.toBytes(state, 1) ?? 'nil';
  }

  /** Fills the record for a level of the stack. Returns the kind of function, or null without such a level. */
  #look(state: LuaState, level: number): string | null {
    if (this.#module._lua_getstack(state, level, this.#record) === 0) return null;
    this.#module._lua_getinfo(state, this.#stack.name('Sl'), this.#record);
    return this.#stack.textAt(this.#module.HEAPU32[(this.#record + WHAT_AT) / 4] as number);
  }
}

/** An error reply is a single line in the protocol. */
function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]/g, ' ');
}
