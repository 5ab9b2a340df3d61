/**
 * The globals of a script: those that Redis offers and no others, all of them read-only.
 *
 * Redis marks its tables read-only with a patched Lua. Here each is an empty table with a metatable that looks fields up
 * in the real table and refuses every write. A script sees the difference only when it iterates with `pairs`.
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
/** Libraries that Redis has and the embedded node lacks. The error says so: they are not missing in Redis. */
const ABSENT = new Set(['bit', 'cjson', 'cmsgpack', 'struct']);
/** Redis replaces these with a generator that returns the same numbers in every run. */
const ABSENT_IN_MATH = ['random', 'randomseed'];

const READ_ONLY = 'Attempt to modify a readonly table';

export class LuaSandbox {
  readonly #stack: LuaStack;
  readonly #state: LuaState;
  /** Registry key of the writable table behind the read-only `_G` of the scripts. */
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
    // Code that a script loads from a string gets these globals too.
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

  /** The `pcall` of Redis: returns the field `err` of an error that is a table. */
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

  /** `rawset` bypasses metatables, except those of the read-only tables. */
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

  /** Makes the table on top of the stack read-only, and sets it as a field of the table below. */
  #setReadOnly(name: string): void {
    this.#wrap();
    this.#stack.module._lua_setfield(this.#state, -2, this.#stack.name(name));
  }

  /** Replaces the table on top of the stack by an empty one that reads from it and refuses writes. */
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

  /** As in Redis, reading a global that does not exist is an error: it is usually a misspelled name. */
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

  /** Hides the metatable of strings, which all scripts share: a script could change `("x"):upper()` for the others. */
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
