/** Moves strings, numbers and tables between JavaScript and the stack of a Lua state. */
import { Buffer } from 'node:buffer';
import { LUA_REGISTRY, LUA_TYPE, type LuaModule, type LuaState } from './lua-module.ts';

const SCRATCH_BYTES_MIN = 64 * 1024;
/** Shorter strings are copied byte by byte: calling into the runtime for them costs more than the copy. */
const SHORT_BYTES_MAX = 40;

export class LuaStack {
  readonly module: LuaModule;
  readonly #names = new Map<string, number>();
  readonly #lengthAt: number;
  #memory: Buffer;
  #scratch: number;
  #scratchBytes = SCRATCH_BYTES_MIN;

  constructor(module: LuaModule) {
    this.module = module;
    this.#memory = Buffer.from(module.HEAPU8.buffer);
    this.#lengthAt = module._malloc(4);
    this.#scratch = module._malloc(SCRATCH_BYTES_MIN);
  }

  /** The address of a C string that is never freed: for names of fields and globals. */
  name(bytes: string): number {
    const known = this.#names.get(bytes);
    if (known !== undefined) return known;
    const address = this.module._malloc(bytes.length + 1);
    this.#write(`${bytes}\0`, address);
    this.#names.set(bytes, address);
    return address;
  }

  pushString(state: LuaState, bytes: string): void {
    this.module._lua_pushlstring(state, this.borrow(bytes), bytes.length);
  }

  /** Copies bytes into a buffer that Lua can read. The address is valid until the next call. */
  borrow(bytes: string): number {
    if (bytes.length > this.#scratchBytes) {
      this.module._free(this.#scratch);
      this.#scratchBytes = 2 * bytes.length;
      this.#scratch = this.module._malloc(this.#scratchBytes);
    }
    this.#write(bytes, this.#scratch);
    return this.#scratch;
  }

  pushStrings(state: LuaState, items: readonly string[]): void {
    const { module } = this;
    module._lua_createtable(state, items.length, 0);
    for (let i = 0; i < items.length; i += 1) {
      this.pushString(state, items[i] as string);
      module._lua_rawseti(state, -2, i + 1);
    }
  }

  /** The bytes of a string or a number, or null for anything else. Lua turns a number into a string in place. */
  toBytes(state: LuaState, index: number): string | null {
    const address = this.module._lua_tolstring(state, index, this.#lengthAt);
    if (address === 0) return null;
    const length = this.module.HEAPU32[this.#lengthAt / 4] as number;
    return this.#read(address, length);
  }

  /** A C string somewhere in the module's memory. */
  textAt(address: number): string {
    if (address === 0) return '';
    const heap = this.module.HEAPU8;
    return this.#read(address, heap.indexOf(0, address) - address);
  }

  /** A field of the table on top of the stack, read without metatables: its bytes, or null if it is no string. */
  fieldBytes(state: LuaState, key: number): string | null {
    const { module } = this;
    module._lua_rawgeti(state, LUA_REGISTRY, key);
    module._lua_rawget(state, -2);
    const bytes = module._lua_type(state, -1) === LUA_TYPE.string ? this.toBytes(state, -1) : null;
    module._lua_settop(state, -2);
    return bytes;
  }

  /** Moves the value on top of the stack into the registry, and returns its key there. */
  keep(state: LuaState): number {
    return this.module._luaL_ref(state, LUA_REGISTRY);
  }

  /** Raises an error with the place in the script. Leaves through an exception that only the Lua module may catch. */
  raise(state: LuaState, text: string): number {
    this.module._luaL_where(state, 1);
    this.pushString(state, text);
    this.module._lua_concat(state, 2);
    return this.module._lua_error(state);
  }

  #write(bytes: string, address: number): void {
    const heap = this.module.HEAPU8;
    if (bytes.length > SHORT_BYTES_MAX) {
      this.#view().write(bytes, address, 'latin1');
      return;
    }
    for (let i = 0; i < bytes.length; i += 1) heap[address + i] = bytes.charCodeAt(i);
  }

  #read(address: number, length: number): string {
    return this.#view().toString('latin1', address, address + length);
  }

  /** The module replaces its memory when it grows, so the view is made again. */
  #view(): Buffer {
    const { buffer } = this.module.HEAPU8;
    if (this.#memory.buffer !== buffer) this.#memory = Buffer.from(buffer);
    return this.#memory;
  }
}
