/**
 * Lua 5.1 as WebAssembly, from the package `wasmoon-lua5.1`. Only its bare C API is used: its conversions between
 * JavaScript and Lua cost a hundred times what one of our scripts does.
 */
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { constants, runInThisContext } from 'node:vm';

/** A Lua state: an address in the module's memory. */
export type LuaState = number;

export type LuaFunction = (state: LuaState) => number;

/** The part of the C API that we use, as Emscripten exports it. Strings are addresses of bytes. */
export interface LuaModule {
  readonly HEAPU8: Uint8Array;
  readonly HEAPU32: Uint32Array;
  /** Makes a JavaScript function callable from Lua; `ii` is a function from a state to an integer. */
  addFunction(fn: LuaFunction, signature: 'ii'): number;
  _malloc(bytes: number): number;
  _free(address: number): void;
  _luaL_newstate(): LuaState;
  _luaL_openlibs(state: LuaState): void;
  _luaL_loadbuffer(state: LuaState, bytes: number, length: number, name: number): number;
  _luaL_ref(state: LuaState, table: number): number;
  _luaL_where(state: LuaState, level: number): void;
  _lua_checkstack(state: LuaState, slots: number): number;
  _lua_concat(state: LuaState, count: number): void;
  _lua_createtable(state: LuaState, items: number, fields: number): void;
  _lua_error(state: LuaState): number;
  _lua_getfield(state: LuaState, index: number, name: number): void;
  _lua_getinfo(state: LuaState, what: number, record: number): number;
  _lua_getmetatable(state: LuaState, index: number): number;
  _lua_getstack(state: LuaState, level: number, record: number): number;
  _lua_gettop(state: LuaState): number;
  _lua_insert(state: LuaState, index: number): void;
  _lua_pcall(state: LuaState, args: number, results: number, handler: number): number;
  _lua_pushboolean(state: LuaState, value: number): void;
  _lua_pushcclosure(state: LuaState, fn: number, upvalues: number): void;
  _lua_pushlstring(state: LuaState, bytes: number, length: number): void;
  _lua_pushnil(state: LuaState): void;
  _lua_pushnumber(state: LuaState, value: number): void;
  _lua_pushvalue(state: LuaState, index: number): void;
  _lua_rawget(state: LuaState, index: number): void;
  _lua_rawgeti(state: LuaState, index: number, item: number): void;
  _lua_rawset(state: LuaState, index: number): void;
  _lua_rawseti(state: LuaState, index: number, item: number): void;
  _lua_replace(state: LuaState, index: number): void;
  _lua_setfield(state: LuaState, index: number, name: number): void;
  _lua_setmetatable(state: LuaState, index: number): number;
  _lua_settop(state: LuaState, index: number): void;
  _lua_toboolean(state: LuaState, index: number): number;
  _lua_tolstring(state: LuaState, index: number, length: number): number;
  _lua_tonumber(state: LuaState, index: number): number;
  _lua_type(state: LuaState, index: number): number;
}

export const LUA_REGISTRY = -10_000;
export const LUA_GLOBALS = -10_002;
/** For a call that may return any number of values. */
export const LUA_ALL_RESULTS = -1;

export const LUA_TYPE = { nil: 0, boolean: 1, number: 3, string: 4, table: 5, function: 6 } as const;

interface Wasmoon {
  readonly LuaApi: { initialize(): Promise<{ readonly module: LuaModule }> };
}

/** The error code of `import()` in a context that lacks it. Jest runs CommonJS in such a context. */
const NO_IMPORT = 'ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING_FLAG';

export async function loadLuaModule(): Promise<LuaModule> {
  // The declarations of wasmoon-lua5.1 refer to files that the package lacks, so its shape is stated here. Imported when
  // a node runs its first command: a process that only imports this package should not pay for the Lua engine.
  const wasmoon = (await import('wasmoon-lua5.1')) as unknown as Wasmoon;
  try {
    return (await wasmoon.LuaApi.initialize()).module;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== NO_IMPORT) throw error;
    return (await (await importFromOutside()).LuaApi.initialize()).module;
  }
}

/** Loads wasmoon-lua5.1 in the main context of the process, because wasmoon-lua5.1 itself uses `import()`. */
function importFromOutside(): Promise<Wasmoon> {
  const file = createRequire(__filename).resolve('wasmoon-lua5.1');
  const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  const load = runInThisContext('(address) => import(address)', { importModuleDynamically });
  return load(pathToFileURL(file).href);
}
