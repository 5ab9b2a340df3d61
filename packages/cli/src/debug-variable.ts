/**
 * The variable DEBUG makes the Redis client print all that it sends, passwords too. It is removed from the environment
 * before that client is loaded. The command of `run` gets DEBUG as it was.
 */
let aside: string | undefined;

export function takeDebugVariable(): void {
  aside = process.env['DEBUG'];
  delete process.env['DEBUG'];
}

/** For the environment of a command that is not ours. */
export function debugVariable(): Readonly<Record<string, string>> {
  return aside === undefined ? {} : { DEBUG: aside };
}
