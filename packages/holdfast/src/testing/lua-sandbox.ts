/**
 * The globals of a script: those that Redis offers and no others, and none of them can be changed.
 *
 * Redis marks its tables read-only with a patched Lua. Ours are empty tables that look everything up in the real
 * ones and refuse every write, which a script cannot tell from the original unless it walks them with `pairs`.
 */
import {
  LUA_ALL_RESULTS,
  LUA_GLOBALS,
  LUA_REGISTRY,
  LUA_TYPE,
  type LuaFunction,
  type LuaState,
} from './lua-module.ts';
import type { LuaStack } from './lua-stack.ts';

const FUNCTIONS = [
  'assert',
  'collectgarbage',
  'error',
  'gcinfo',
  'getmetatable',
  'ipairs',
  'load',
  'loadstring',
  'next',
  'pairs',
  'rawequal',
  'rawget',
  'select',
  'setmetatable',
  'tonumber',
  'tostring',
  'type',
  'unpack',
  'xpcall',
];
const LIBRARIES = ['coroutine', 'math', 'string', 'table'];
/** In Redis and not here. They are refused by name, so that nobody takes them for missing in Redis too. */
const ABSENT = new Set(['bit', 'cjson', 'cmsgpack', 'struct']);
/** Redis puts a generator of its own behind these, which gives the same numbers in every run. */
const ABSENT_IN_MATH = ['random', 'randomseed'];

const READ_ONLY = 'Attempt to modify a readonly table';

export class LuaSandbox {
  readonly #stack: LuaStack;
  readonly #state: LuaState;
  /** Registry key of the table behind the one that scripts see as `_G`. */
  readonly #globals: number;

  constructor(
    stack: LuaStack,
    state: LuaState,
    redis: Readonly<Record<string, LuaFunction | string | number>>,
  ) {
    this.#stack = stack;
    this.#state = state;
    const { module } = stack;
    module._lua_createtable(state, 0, FUNCTIONS.length + LIBRARIES.length);
    for (const name of FUNCTIONS) this.#copyGlobal(name);
    this.#pushFunction((calling) => this.#protectedCall(calling));
    module._lua_setfield(state, -2, stack.name('pcall'));
    this.#pushFunction((calling) => this.#rawSet(calling));
    module._lua_setfield(state, -2, stack.name('rawset'));
    for (const name of LIBRARIES) this.#copyLibrary(name);
    this.#pushRedis(redis);
    this.#setReadOnly('redis');
    stack.pushString(state, 'Lua 5.1');
    module._lua_setfield(state, -2, stack.name('_VERSION'));
    this.#refuseUnknown();
    this.#sealStrings();
    module._lua_pushvalue(state, -1);
    this.#globals = stack.keep(state);
    this.#wrap();
    module._lua_rawgeti(state, LUA_REGISTRY, this.#globals);
    module._lua_pushvalue(state, -2);
    module._lua_setfield(state, -2, stack.name('_G'));
    module._lua_settop(state, -2);
    // From here on: also what a script itself loads from a string has these globals.
    module._lua_replace(state, LUA_GLOBALS);
    module._lua_settop(state, 0);
  }

  setArguments(keys: readonly string[], args: readonly string[]): void {
    const stack = this.#stack;
    const { module } = stack;
    module._lua_rawgeti(this.#state, LUA_REGISTRY, this.#globals);
    stack.pushStrings(this.#state, keys);
    module._lua_setfield(this.#state, -2, stack.name('KEYS'));
    stack.pushStrings(this.#state, args);
    module._lua_setfield(this.#state, -2, stack.name('ARGV'));
    module._lua_settop(this.#state, -2);
  }

  #copyGlobal(name: string): void {
    const { module } = this.#stack;
    module._lua_getfield(this.#state, LUA_GLOBALS, this.#stack.name(name));
    module._lua_setfield(this.#state, -2, this.#stack.name(name));
  }

  /** Redis's own `pcall`: an error that is a table with an `err` is caught as that text. */
  #protectedCall(state: LuaState): number {
    const { module } = this.#stack;
    const args = module._lua_gettop(state) - 1;
    if (args < 0) return this.#stack.raise(state, "bad argument #1 to 'pcall' (value expected)");
    const isOk = module._lua_pcall(state, args, LUA_ALL_RESULTS, 0) === 0;
    if (!isOk && module._lua_type(state, -1) === LUA_TYPE.table) {
      module._lua_getfield(state, -1, this.#stack.name('err'));
      const hasText = module._lua_type(state, -1) === LUA_TYPE.string;
      if (!hasText) module._lua_settop(state, -2);
    }
    if (!isOk) {
      module._lua_insert(state, 1);
      module._lua_settop(state, 1);
    }
    module._lua_pushboolean(state, isOk ? 1 : 0);
    module._lua_insert(state, 1);
    return module._lua_gettop(state);
  }

  /** Goes past metatables, though not past ours. */
  #rawSet(state: LuaState): number {
    const { module } = this.#stack;
    module._lua_settop(state, 3);
    if (module._lua_type(state, 1) !== LUA_TYPE.table)
      return this.#stack.raise(state, "bad argument #1 to 'rawset' (table expected)");
    if (module._lua_getmetatable(state, 1) === 1) {
      module._lua_getfield(state, -1, this.#stack.name('__metatable'));
      if (module._lua_type(state, -1) === LUA_TYPE.boolean) {
        this.#stack.pushString(state, READ_ONLY);
        return module._lua_error(state);
      }
      module._lua_settop(state, 3);
    }
    module._lua_rawset(state, 1);
    return 1;
  }

  #copyLibrary(name: string): void {
    const { module } = this.#stack;
    module._lua_getfield(this.#state, LUA_GLOBALS, this.#stack.name(name));
    if (name === 'math') {
      for (const absent of ABSENT_IN_MATH) {
        this.#pushFunction((state) =>
          this.#stack.raise(state, `the embedded node does not implement math.${absent}`),
        );
        module._lua_setfield(this.#state, -2, this.#stack.name(absent));
      }
    }
    this.#setReadOnly(name);
  }

  #pushRedis(members: Readonly<Record<string, LuaFunction | string | number>>): void {
    const { module } = this.#stack;
    module._lua_createtable(this.#state, 0, Object.keys(members).length);
    for (const [name, member] of Object.entries(members)) {
      if (typeof member === 'function') this.#pushFunction(member);
      else if (typeof member === 'number') module._lua_pushnumber(this.#state, member);
      else this.#stack.pushString(this.#state, member);
      module._lua_setfield(this.#state, -2, this.#stack.name(name));
    }
  }

  /** Sets the table on top as a field of the one below it, behind a face that cannot be written to. */
  #setReadOnly(name: string): void {
    this.#wrap();
    this.#stack.module._lua_setfield(this.#state, -2, this.#stack.name(name));
  }

  /** Puts an empty table in place of the one on top, which looks up there and refuses to be written to. */
  #wrap(): void {
    const { module } = this.#stack;
    const state = this.#state;
    const table = this.#stack.keep(state);
    module._lua_createtable(state, 0, 0);
    module._lua_createtable(state, 0, 3);
    module._lua_rawgeti(state, LUA_REGISTRY, table);
    module._lua_setfield(state, -2, this.#stack.name('__index'));
    this.#pushFunction((failing) => this.#stack.raise(failing, READ_ONLY));
    module._lua_setfield(state, -2, this.#stack.name('__newindex'));
    this.#hideMetatable();
    module._lua_setmetatable(state, -2);
  }

  /** A global that does not exist is a typing error more often than a nil. */
  #refuseUnknown(): void {
    const { module } = this.#stack;
    module._lua_createtable(this.#state, 0, 1);
    this.#pushFunction((state) => {
      const name = this.#stack.toBytes(state, 2) ?? '';
      if (ABSENT.has(name))
        return this.#stack.raise(state, `the embedded node does not implement the library ${name}`);
      return this.#stack.raise(state, `Script attempted to access nonexistent global variable '${name}'`);
    });
    module._lua_setfield(this.#state, -2, this.#stack.name('__index'));
    module._lua_setmetatable(this.#state, -2);
  }

  /** `("x"):upper()` looks in a metatable that all scripts share: it is not shown. */
  #sealStrings(): void {
    const { module } = this.#stack;
    this.#stack.pushString(this.#state, '');
    module._lua_getfield(this.#state, LUA_GLOBALS, this.#stack.name('getmetatable'));
    module._lua_pushvalue(this.#state, -2);
    module._lua_pcall(this.#state, 1, 1, 0);
    if (module._lua_type(this.#state, -1) === LUA_TYPE.table) this.#hideMetatable();
    module._lua_settop(this.#state, -3);
  }

  #hideMetatable(): void {
    const { module } = this.#stack;
    module._lua_pushboolean(this.#state, 0);
    module._lua_setfield(this.#state, -2, this.#stack.name('__metatable'));
  }

  #pushFunction(fn: LuaFunction): void {
    const { module } = this.#stack;
    module._lua_pushcclosure(this.#state, module.addFunction(fn, 'ii'), 0);
  }
}
