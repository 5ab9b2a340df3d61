/**
 * The variable DEBUG, which makes the Redis client print all that it sends, passwords too. It is put aside before that
 * client is loaded; the command of `run` gets it back, because it may be meant for it.
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
