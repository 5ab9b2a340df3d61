/** Converts what a script returns into a reply. */

import { Double, ErrorReply, type NodeReply, Status } from '../protocol/reply.ts';
import { LUA_REGISTRY, LUA_TYPE, type LuaModule, type LuaState } from './lua-module.ts';
import type { LuaStack } from './lua-stack.ts';

/** Redis turns tables with one of these fields into RESP3 replies; the embedded node refuses them. */
const ABSENT = ['map', 'set', 'big_number', 'verbatim_string'] as const;

/** The deepest nesting of a reply. */
const DEPTH_MAX = 100;

const INT64_MIN = -(2n ** 63n);
const INT64_LIMIT = 2 ** 63;

export class ScriptReplies {
  readonly #module: LuaModule;
  readonly #stack: LuaStack;
  readonly #state: LuaState;
  readonly #keys: ReadonlyMap<string, number>;

  constructor(stack: LuaStack, state: LuaState) {
    this.#module = stack.module;
    this.#stack = stack;
    this.#state = state;
    const keep = (name: string): [string, number] => {
      stack.pushString(state, name);
      return [name, stack.keep(state)];
    };
    this.#keys = new Map(['err', 'ok', 'double', ...ABSENT].map(keep));
  }

  /** The reply for the value on top of the stack. */
  take(): NodeReply {
    return this.#read(0);
  }

  #read(depth: number): NodeReply {
    switch (this.#module._lua_type(this.#state, -1)) {
      case LUA_TYPE.string:
        return this.#stack.toBytes(this.#state, -1);
      case LUA_TYPE.number:
        return toInteger(this.#module._lua_tonumber(this.#state, -1));
      case LUA_TYPE.boolean:
        return this.#module._lua_toboolean(this.#state, -1) === 1 ? 1 : null;
      case LUA_TYPE.table:
        if (depth === DEPTH_MAX) return new ErrorReply('ERR reached lua stack limit');
        return this.#readTable(depth);
      default:
        return null;
    }
  }

  #readTable(depth: number): NodeReply {
    const err = this.#field('err', LUA_TYPE.string, depth);
    if (typeof err === 'string') return new ErrorReply(err.replaceAll(/[\r\n]/g, ' '));
    const ok = this.#field('ok', LUA_TYPE.string, depth);
    if (typeof ok === 'string') return new Status(ok.replaceAll(/[\r\n]/g, ' '));
    const double = this.#double();
    if (double !== null) return new Double(double);
    const absent = ABSENT.find((name) => this.#hasField(name));
    if (absent !== undefined) {
      return new ErrorReply(
        `ERR the embedded node does not implement scripts that reply with a table of '${absent}'`,
      );
    }
    return this.#readList(depth);
  }

  /** A list ends at its first nil. */
  #readList(depth: number): NodeReply {
    const items: NodeReply[] = [];
    this.#module._lua_checkstack(this.#state, 4);
    for (let i = 1; ; i += 1) {
      this.#module._lua_rawgeti(this.#state, -1, i);
      const isEnd = this.#module._lua_type(this.#state, -1) === LUA_TYPE.nil;
      if (!isEnd) items.push(this.#read(depth + 1));
      this.#module._lua_settop(this.#state, -2);
      if (isEnd) return items;
    }
  }

  #field(name: string, type: number, depth: number): NodeReply {
    this.#pushField(name);
    const value = this.#module._lua_type(this.#state, -1) === type ? this.#read(depth) : null;
    this.#module._lua_settop(this.#state, -2);
    return value;
  }

  #double(): number | null {
    this.#pushField('double');
    const isNumber = this.#module._lua_type(this.#state, -1) === LUA_TYPE.number;
    const value = isNumber ? this.#module._lua_tonumber(this.#state, -1) : null;
    this.#module._lua_settop(this.#state, -2);
    return value;
  }

  #hasField(name: string): boolean {
    this.#pushField(name);
    const type = this.#module._lua_type(this.#state, -1);
    this.#module._lua_settop(this.#state, -2);
    return type !== LUA_TYPE.nil;
  }

  #pushField(name: string): void {
    this.#module._lua_rawgeti(this.#state, LUA_REGISTRY, this.#keys.get(name) as number);
    this.#module._lua_rawget(this.#state, -2);
  }
}

/** Like a cast to `int64_t` in C: the fraction is dropped, and a number out of range becomes the smallest integer. */
function toInteger(value: number): number | bigint {
  if (!(Math.abs(value) < INT64_LIMIT)) return INT64_MIN;
  const whole = Math.trunc(value);
  return Number.isSafeInteger(whole) ? whole + 0 : BigInt(whole);
}
