import type { ScriptCall } from '../client.ts';

/** A call as the words of a command, for clients that send raw ones. */
export function scriptCommand({ script, keys, args }: ScriptCall, isByText: boolean): string[] {
  const count = String(keys.length);
  return isByText
    ? ['EVAL', script.source, count, ...keys, ...args]
    : ['EVALSHA', script.sha, count, ...keys, ...args];
}
