/**
 * Runs scripts with the globals, the conversions and the error texts of Redis.
 *
 * One engine serves all nodes of the process. A script cannot keep state between two runs, so nodes cannot see each
 * other through it, and a script that many nodes run is compiled once.
 *
 * In this folder: Lua, its globals, and the conversion of values and errors. Only `state/`, `commands/server/` and
 * `node/` import from here.
 */
import { CommandError } from '../protocol/command-error.ts';
import { formatFloat } from '../protocol/number-text.ts';
import { Double, ErrorReply, type NodeReply, NoList, Status } from '../protocol/reply.ts';
import { LUA_REGISTRY, LUA_TYPE, type LuaModule, type LuaState, loadLuaModule } from './lua-module.ts';
import { LuaSandbox } from './lua-sandbox.ts';
import { LuaStack } from './lua-stack.ts';
import { ScriptErrors } from './script-errors.ts';
import { ScriptReplies } from './script-replies.ts';
import { type LoadedScript, sha1 } from './script-text.ts';

/** What a script may do with the node that runs it. */
export interface ScriptHost {
  /** Runs a command for the script. A command that is refused gives an `ErrorReply`. */
  call(name: string, args: readonly string[]): NodeReply;
  /** Whether the command exists. The node has no access lists: everybody may run every command. */
  knows(name: string): boolean;
}

/** Most compiled scripts that are kept. Older scripts are compiled again when they are run again. */
const COMPILED_MAX = 1_000;

const CHUNK_NAME = '@user_script';

/** The constants of the table `redis`. */
const CONSTANTS = {
  LOG_DEBUG: 0,
  LOG_VERBOSE: 1,
  LOG_NOTICE: 2,
  LOG_WARNING: 3,
  REDIS_VERSION: '7.0.15',
  REDIS_VERSION_NUM: 0x00_07_00_0f,
  REPL_NONE: 0,
  REPL_AOF: 1,
  REPL_SLAVE: 2,
  REPL_REPLICA: 2,
  REPL_ALL: 3,
};

export class ScriptEngine {
  readonly #module: LuaModule;
  readonly #stack: LuaStack;
  readonly #state: LuaState;
  readonly #sandbox: LuaSandbox;
  readonly #errors: ScriptErrors;
  readonly #replies: ScriptReplies;
  /** Registry keys of compiled scripts by their SHA-1, oldest first. */
  readonly #compiled = new Map<string, number>();
  #host: ScriptHost | null = null;

  constructor(module: LuaModule) {
    this.#module = module;
    this.#stack = new LuaStack(module);
    this.#state = module._luaL_newstate();
    module._luaL_openlibs(this.#state);
    this.#errors = new ScriptErrors(this.#stack, this.#state);
    this.#replies = new ScriptReplies(this.#stack, this.#state);
    this.#sandbox = new LuaSandbox(this.#stack, this.#state, {
      ...CONSTANTS,
      call: (state) => this.#call(state, true),
      pcall: (state) => this.#call(state, false),
      acl_check_cmd: (state) => this.#checkAccess(state),
      error_reply: (state) => this.#oneField(state, 'err'),
      status_reply: (state) => this.#oneField(state, 'ok'),
      sha1hex: (state) => {
        this.#stack.pushString(state, sha1(this.#stack.toBytes(state, 1) ?? ''));
        return 1;
      },
      log: () => 0,
      setresp: (state) => this.#setProtocol(state),
      replicate_commands: (state) => {
        module._lua_pushboolean(state, 1);
        return 1;
      },
      set_repl: () => 0,
    });
  }

  /** Compiles a script unless it is compiled already. Refuses what is not Lua. */
  compile(script: LoadedScript): void {
    this.#functionOf(script);
  }

  run(script: LoadedScript, keys: readonly string[], args: readonly string[], host: ScriptHost): NodeReply {
    const module = this.#module;
    const state = this.#state;
    const before = this.#host;
    this.#host = host;
    try {
      this.#errors.pushHandler();
      module._lua_rawgeti(state, LUA_REGISTRY, this.#functionOf(script));
      this.#sandbox.setArguments(keys, args);
      const status = module._lua_pcall(state, 0, 1, -2);
      return status === 0 ? this.#replies.take() : this.#errors.take(script.sha);
    } finally {
      module._lua_settop(state, 0);
      this.#host = before;
    }
  }

  #functionOf(script: LoadedScript): number {
    const known = this.#compiled.get(script.sha);
    if (known !== undefined) return known;
    const state = this.#state;
    const address = this.#stack.borrow(script.body);
    const status = this.#module._luaL_loadbuffer(
      state,
      address,
      script.body.length,
      this.#stack.name(CHUNK_NAME),
    );
    if (status !== 0) {
      const text = this.#stack.toBytes(state, -1) ?? '';
      this.#module._lua_settop(state, -2);
      throw new CommandError(`ERR Error compiling script (new function): ${text}`);
    }
    const reference = this.#stack.keep(state);
    this.#compiled.set(script.sha, reference);
    if (this.#compiled.size > COMPILED_MAX) this.#forgetOldest();
    return reference;
  }

  #forgetOldest(): void {
    const [oldest] = this.#compiled;
    if (oldest === undefined) return;
    this.#compiled.delete(oldest[0]);
    this.#module._lua_pushnil(this.#state);
    this.#module._lua_rawseti(this.#state, LUA_REGISTRY, oldest[1]);
  }

  /** `redis.call` and `redis.pcall`. */
  #call(state: LuaState, raises: boolean): number {
    const reply = this.#callHost(state);
    if (reply instanceof ErrorReply) {
      this.#errors.push(state, reply.text);
      return raises ? this.#module._lua_error(state) : 1;
    }
    this.#push(state, reply);
    return 1;
  }

  /** `redis.acl_check_cmd`. */
  #checkAccess(state: LuaState): number {
    const words = this.#wordsOf(state);
    if (words instanceof ErrorReply) this.#errors.push(state, words.text);
    else if (this.#host?.knows(words[0] ?? '')) {
      this.#module._lua_pushboolean(state, 1);
      return 1;
    } else this.#errors.push(state, 'ERR Invalid command passed to redis.acl_check_cmd()');
    return this.#module._lua_error(state);
  }

  #callHost(state: LuaState): NodeReply {
    const words = this.#wordsOf(state);
    if (words instanceof ErrorReply) return words;
    if (this.#host === null)
      return new ErrorReply('ERR redis.call can only be called inside a script invocation');
    return this.#host.call(words[0] ?? '', words.slice(1));
  }

  /** The arguments of `redis.call`: a command and its arguments. */
  #wordsOf(state: LuaState): string[] | ErrorReply {
    const count = this.#module._lua_gettop(state);
    if (count === 0)
      return new ErrorReply('ERR Please specify at least one argument for this redis lib call');
    const args: string[] = [];
    for (let index = 1; index <= count; index += 1) {
      const type = this.#module._lua_type(state, index);
      if (type === LUA_TYPE.string) args.push(this.#stack.toBytes(state, index) as string);
      else if (type === LUA_TYPE.number) args.push(formatFloat(this.#module._lua_tonumber(state, index)));
      else return new ErrorReply('ERR Lua redis lib command arguments must be strings or integers');
    }
    return args;
  }

  /** Converts a reply to Lua: nil becomes false, a status or an error becomes a table with one field. */
  #push(state: LuaState, reply: NodeReply): void {
    const module = this.#module;
    if (typeof reply === 'number') module._lua_pushnumber(state, reply);
    else if (typeof reply === 'string') this.#stack.pushString(state, reply);
    else if (reply === null) module._lua_pushboolean(state, 0);
    else if (typeof reply === 'bigint') module._lua_pushnumber(state, Number(reply));
    else if (reply instanceof Double) this.#stack.pushString(state, formatFloat(reply.value));
    else if (reply instanceof Status) this.#pushField(state, 'ok', reply.text);
    else if (reply instanceof ErrorReply) this.#errors.push(state, reply.text);
    else if (reply instanceof NoList) module._lua_pushboolean(state, 0);
    else this.#pushList(state, 'items' in reply ? reply.items : reply);
  }

  #pushList(state: LuaState, items: readonly NodeReply[]): void {
    this.#module._lua_checkstack(state, 3);
    this.#module._lua_createtable(state, items.length, 0);
    for (let i = 0; i < items.length; i += 1) {
      this.#push(state, items[i] as NodeReply);
      this.#module._lua_rawseti(state, -2, i + 1);
    }
  }

  #pushField(state: LuaState, field: string, bytes: string): void {
    this.#module._lua_createtable(state, 0, 1);
    this.#stack.pushString(state, bytes);
    this.#module._lua_setfield(state, -2, this.#stack.name(field));
  }

  #oneField(state: LuaState, field: 'ok' | 'err'): number {
    const isOne = this.#module._lua_gettop(state) === 1;
    if (!isOne || this.#module._lua_type(state, 1) !== LUA_TYPE.string) {
      this.#pushField(state, 'err', 'ERR wrong number or type of arguments');
      return 1;
    }
    const text = this.#stack.toBytes(state, 1) ?? '';
    this.#pushField(state, field, field === 'err' ? text.replace(/^-/, '') : text);
    return 1;
  }

  #setProtocol(state: LuaState): number {
    if (this.#module._lua_tonumber(state, 1) === 2) return 0;
    return this.#stack.raise(state, 'the embedded node does not implement redis.setresp(3)');
  }
}

let loading: Promise<ScriptEngine> | null = null;

/** The engine of this process, made on the first call. */
export function loadScriptEngine(): Promise<ScriptEngine> {
  loading ??= loadLuaModule().then((module) => new ScriptEngine(module));
  return loading;
}
