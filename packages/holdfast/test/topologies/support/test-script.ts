/** Small Lua of kinds of lock that exist in tests alone. Outcomes have the numbers of `scripts/outcome.ts`. */
import { createHash } from 'node:crypto';
import type { Reply, ScriptText } from '../../../src/clients/client.ts';

/** Lua that puts the server's time into `now_ms`. */
export const NOW = `local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)`;

export function testScript(name: string, body: string): ScriptText {
  const source = `#!lua\n${body}`;
  return { name, source, sha: createHash('sha1').update(source).digest('hex') };
}

/** The numbers of a reply. Throws when the reply is something else, or not as many. */
export function numbersOf(reply: Reply, count?: number): number[] {
  if (!Array.isArray(reply) || (count !== undefined && reply.length !== count)) {
    throw new TypeError(`expected numbers, got ${JSON.stringify(reply)}`);
  }
  return reply.map(Number);
}
