import type { Block, Call, Expression } from './syntax.ts';
import { callsOf, dottedName } from './traverse.ts';

export interface Command {
  /** Which of its arguments are keys. */
  readonly keys: 'first' | 'all' | 'none';
  /** Whether a script with the flag `no-writes` must not send it. */
  readonly writes: boolean;
  readonly reply: 'integer' | 'string' | 'array' | 'status';
}

/** The commands that our scripts may send. All are in Redis 7.0 with the options we use; add one when needed. */
export const COMMANDS: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['DEL', { keys: 'all', writes: true, reply: 'integer' }],
  ['GET', { keys: 'first', writes: false, reply: 'string' }],
  ['HDEL', { keys: 'first', writes: true, reply: 'integer' }],
  ['HEXISTS', { keys: 'first', writes: false, reply: 'integer' }],
  ['HGETALL', { keys: 'first', writes: false, reply: 'array' }],
  ['HKEYS', { keys: 'first', writes: false, reply: 'array' }],
  ['HLEN', { keys: 'first', writes: false, reply: 'integer' }],
  ['HMGET', { keys: 'first', writes: false, reply: 'array' }],
  ['HSET', { keys: 'first', writes: true, reply: 'integer' }],
  ['INFO', { keys: 'none', writes: false, reply: 'string' }],
  ['PEXPIRE', { keys: 'first', writes: true, reply: 'integer' }],
  ['PTTL', { keys: 'first', writes: false, reply: 'integer' }],
  ['PUBLISH', { keys: 'none', writes: true, reply: 'integer' }],
  ['PUBSUB', { keys: 'none', writes: false, reply: 'array' }],
  ['SCAN', { keys: 'none', writes: false, reply: 'array' }],
  ['SET', { keys: 'first', writes: true, reply: 'status' }],
  ['SPUBLISH', { keys: 'none', writes: true, reply: 'integer' }],
  ['STRLEN', { keys: 'first', writes: false, reply: 'integer' }],
  ['TIME', { keys: 'none', writes: false, reply: 'array' }],
  ['TYPE', { keys: 'first', writes: false, reply: 'status' }],
]);

/** Whether the expression names a function that takes a command, to send it or to ask for its permission. */
export function isRedisFunction(expression: Expression): boolean {
  return ['redis.call', 'redis.pcall', 'redis.acl_check_cmd'].includes(dottedName(expression));
}

export function isRedisCall(call: Call): boolean {
  return isRedisFunction(call.callee);
}

export function redisCallsOf(block: Block): Call[] {
  return callsOf(block).filter(isRedisCall);
}

/** The command of a call, if a literal names one of `COMMANDS`. */
export function commandOf(call: Call): Command | undefined {
  const [name] = call.args;
  return name?.kind === 'literal' && name.type === 'string' ? COMMANDS.get(name.value) : undefined;
}

/** The arguments of a call that are keys. */
export function keysOf(call: Call): readonly Expression[] {
  const keys = commandOf(call)?.keys ?? 'none';
  return keys === 'none' ? [] : call.args.slice(1, keys === 'first' ? 2 : undefined);
}
