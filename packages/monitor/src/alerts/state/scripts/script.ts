/**
 * One script of the state: sent by its digest, and whole when the server does not know it yet.
 *
 * In this folder: one file for each transition of the state, with its Lua. Only `state/store.ts` imports from here.
 */
import { createHash } from 'node:crypto';
import type { StateRedis } from '../../../alert-source.ts';

export class StateScript {
  readonly #text: string;
  readonly #digest: string;

  constructor(text: string) {
    this.#text = text;
    this.#digest = createHash('sha1').update(text).digest('hex');
  }

  async run(
    redis: StateRedis,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown[]> {
    const words = [String(keys.length), ...keys, ...args.map(String)];
    const reply = await redis.call('EVALSHA', this.#digest, ...words).catch((error: unknown) => {
      if (error instanceof Error && error.message.startsWith('NOSCRIPT'))
        return redis.call('EVAL', this.#text, ...words);
      throw error;
    });
    if (!Array.isArray(reply))
      throw new Error(`expected a list from a script of the state, got ${typeof reply}`);
    return reply;
  }
}

/**
 * The head of every script that writes as the leader: refuses a fence below the stored one. `nowMs` is the server's
 * time. Two leaders may be at work for a moment; only the younger one writes.
 */
export const FENCED = `#!lua flags=allow-oom
local meta, fence = KEYS[1], ARGV[1]
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
if tonumber(fence) < tonumber(redis.call('HGET', meta, 'fence') or '0') then
  return { 'STALE' }
end
`;

/** The end of a script that answers with the whole state: behind `meta` the other hashes, then the outboxes. */
export const WHOLE_STATE = `for index = 2, 7 do
  reply[#reply + 1] = redis.call('HGETALL', KEYS[index])
end
for index = 8, #KEYS do
  reply[#reply + 1] = redis.call('LRANGE', KEYS[index], 0, -1)
end
return reply
`;

/** The stream of what has been keeps about this many entries. */
export const HISTORY_MAX = 5_000;
