/** The refusal of a command: thrown inside the command, turned into an `ErrorReply` by the dispatcher. */
export class CommandError extends Error {}

export const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';
export const NOT_AN_INTEGER = 'ERR value is not an integer or out of range';
export const NOT_A_FLOAT = 'ERR value is not a valid float';
const SYNTAX = 'ERR syntax error';
export const OVERFLOW = 'ERR increment or decrement would overflow';

export function syntaxError(): CommandError {
  return new CommandError(SYNTAX);
}

/** For an option that Redis has and the embedded node lacks. */
export function notImplemented(what: string): CommandError {
  return new CommandError(`ERR the embedded node does not implement ${what}`);
}
