/** Small Lua of kinds of lock that exist in tests alone. Outcomes have the numbers of `scripts/outcome.ts`. */
import { createHash } from 'node:crypto';
import type { Reply, ScriptText } from '../../../src/clients/client.ts';
import type { AcquireAnswer, ReleaseAnswer, StatementBatch } from '../../../src/topologies/protocol.ts';

/** Lua that puts the server's time into `now_ms`. */
export const NOW = `local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)`;

export function testScript(name: string, body: string): ScriptText {
  const source = `#!lua\n${body}`;
  return { name, source, sha: createHash('sha1').update(source).digest('hex') };
}

/** The numbers of a reply. Throws when the reply is something else, or not as many. */
function numbersOf(reply: Reply, count?: number): number[] {
  if (!Array.isArray(reply) || (count !== undefined && reply.length !== count)) {
    throw new TypeError(`expected numbers, got ${JSON.stringify(reply)}`);
  }
  return reply.map(Number);
}

/** Renewals by a script that takes holder and lease of each key, and answers 7 for each that it kept. */
export function renewalBy(script: ScriptText): StatementBatch {
  return {
    call: (statements) => ({
      script,
      keys: statements.map(({ protocol }) => protocol.key),
      args: statements.flatMap(({ holder, leaseMs }) => [holder, String(leaseMs)]),
    }),
    read: (reply, count) => numbersOf(reply, count).map((answer) => (answer === 7 ? 'KEPT' : 'GONE')),
  };
}

export function readAcquire(reply: Reply): AcquireAnswer {
  const [outcome, nowMs = 0, ttlMs = 0] = numbersOf(reply);
  if (outcome === 1) return { is: 'GRANTED', nowMs };
  return outcome === 2 ? { is: 'HELD', nowMs, ttlMs } : { is: 'LATE', nowMs };
}

export function readRelease(reply: Reply): ReleaseAnswer {
  const [outcome, receivers = 0] = numbersOf(reply);
  return outcome === 5 ? { is: 'RELEASED', receivers } : { is: 'GONE' };
}
