/** An embedded node and a real server that are asked the same, and must answer the same. */

import { RespError, type RespValue } from '../../../holdfast/test/support/servers/resp.ts';
import { EmbeddedNode } from '../../src/index.ts';
import { type Answer, Conversation } from './conversation.ts';
import { type Request, SCRIPTS } from './script-requests.ts';
import { KEYS } from './vocabulary.ts';

export type Step = { readonly passMs: number } | { readonly ask: Request };

/** The most by which a time in two replies may differ: the servers run the request one after the other. */
const SLACK_MS = 4_000;
/** Leases that are compared have five seconds left, less a stall of the machine. A smaller number is not a time left. */
const LEFT_MS_MIN = 1_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Moves every expiry nearer: to the keys of a real server that is the same as time passing. */
const PASS_TIME = `
for _, key in ipairs(redis.call('KEYS', '*')) do
  local when = redis.call('PEXPIRETIME', key)
  if when >= 0 then redis.call('PEXPIREAT', key, string.format('%.0f', when - tonumber(ARGV[1]))) end
end`;

/** Reads each key as every type. Both servers refuse all types but that of the value. */
const LOOKS: readonly Request[] = KEYS.flatMap((key) => [
  ['TYPE', key],
  ['PTTL', key],
  ['GET', key],
  ['HGETALL', key],
  ['LRANGE', key, '0', '-1'],
  ['SMEMBERS', key],
  ['ZRANGE', key, '0', '-1', 'WITHSCORES'],
]);

export class ServerPair {
  readonly #realPort: number;

  constructor(realPort: number) {
    this.#realPort = realPort;
  }

  /** Runs the steps on both servers, beginning without keys, and throws at the first difference. */
  async compare(steps: readonly Step[], protocol: 2 | 3): Promise<void> {
    await using node = new EmbeddedNode();
    const { port } = await node.listen();
    const real = new Conversation(this.#realPort);
    const embedded = new Conversation(port);
    const setUp = [['FLUSHALL'], ...SCRIPTS.map(({ source }) => ['SCRIPT', 'LOAD', source])];
    try {
      await Promise.all([real, embedded].map((one) => one.ask([['HELLO', String(protocol)], ...setUp])));
      for (const segment of segmentsOf(steps)) {
        if ('passMs' in segment) {
          await real.ask([['EVAL', PASS_TIME, '0', String(segment.passMs)]]);
          node.advance(segment.passMs);
        } else {
          const answers = await Promise.all([real.ask(segment.ask), embedded.ask(segment.ask)]);
          for (const [i, request] of segment.ask.entries()) {
            expectSame(request, answers[0][i] as Answer, answers[1][i] as Answer);
          }
        }
      }
    } finally {
      await Promise.all([real.close(), embedded.close()]);
    }
  }
}

type Segment = { readonly passMs: number } | { readonly ask: Request[] };

/** Requests between two steps of time are sent together, followed by reads of all keys. */
function segmentsOf(steps: readonly Step[]): Segment[] {
  const segments: Segment[] = [];
  for (const step of [...steps, { passMs: 0 }]) {
    const last = segments.at(-1);
    if ('passMs' in step) {
      if (last !== undefined && 'ask' in last) last.ask.push(...LOOKS);
      segments.push(step);
    } else if (last !== undefined && 'ask' in last) {
      last.ask.push(step.ask);
    } else {
      segments.push({ ask: [step.ask] });
    }
  }
  return segments;
}

function expectSame(request: Request, real: Answer, embedded: Answer): void {
  if (isCloseCall(request, real, embedded)) return;
  const isSame =
    real.type === embedded.type &&
    isAlike(sortedFor(request, real.value), sortedFor(request, embedded.value), unitOf(request));
  if (isSame) return;
  const text = (answer: Answer): string => `${answer.type} ${JSON.stringify(answer.value)}`;
  throw new Error(`${JSON.stringify(request)}\n  real:     ${text(real)}\n  embedded: ${text(embedded)}`);
}

/** Whether GT or LT holds between two leases of the same length may depend on a millisecond. */
function isCloseCall(request: Request, real: Answer, embedded: Answer): boolean {
  const isComparison = request.includes('GT') || request.includes('LT');
  return isComparison && [real, embedded].every(({ value }) => value === 0 || value === 1);
}

/** Commands and scripts whose replies have no order. */
const SCANS = SCRIPTS.filter(({ source }) => source.includes("'SCAN'")).map(({ sha }) => sha);
const UNORDERED: ReadonlySet<string> = new Set(['SMEMBERS', 'SCAN', ...SCANS]);

function sortedFor(request: Request, value: RespValue): RespValue {
  if (!Array.isArray(value) || !request.some((word) => UNORDERED.has(word))) return value;
  return value.map((item) => (Array.isArray(item) ? [...item].sort() : item)).sort();
}

/** The unit, in milliseconds, of the time left in a reply; null for a reply without one. */
function unitOf(request: Request): number | null {
  if (request.includes('TTL')) return 1_000;
  return request.includes('PTTL') || request[0] === 'EVALSHA' ? 1 : null;
}

/** The largest and the smallest number that `command-requests.ts` lets INCRBY add, give or take one. */
const EXTREME = 2 ** 63;

function isAlike(real: RespValue, embedded: RespValue, unitMs: number | null): boolean {
  if (Array.isArray(real) && Array.isArray(embedded)) {
    return (
      real.length === embedded.length &&
      real.every((item, i) => isAlike(item, embedded[i] as RespValue, unitMs))
    );
  }
  if (real instanceof RespError && embedded instanceof RespError) return real.text === embedded.text;
  if (withoutTimes(real) === withoutTimes(embedded)) return true;
  if (!isNumeric(real) || !isNumeric(embedded)) return false;
  const [a, b] = [Number(real), Number(embedded)];
  // A time of day in seconds, milliseconds or microseconds differs: the test has moved the clock of the embedded node.
  // INCRBY with one of the extremes may have been called on a counter of fences, which is such a time.
  for (const unit of [0.001, 1, 1_000]) {
    for (const added of [0, -EXTREME, EXTREME]) {
      if ([a, b].every((time) => Math.abs((time - added) / unit - Date.now()) < DAY_MS)) return true;
    }
  }
  // The time left of a lease. Everything else is exact.
  return (
    unitMs !== null &&
    [a, b].every((left) => left * unitMs > LEFT_MS_MIN) &&
    Math.abs(a - b) * unitMs < SLACK_MS
  );
}

/** Replaces fences, which are times, also inside longer values, and digests, which may be made from a fence. */
function withoutTimes(value: RespValue): RespValue {
  return typeof value === 'string' ? value.replaceAll(/(?:17|18)\d{14}|^[0-9a-f]{40}$/g, 'time') : value;
}

function isNumeric(value: RespValue): boolean {
  return typeof value === 'number' || (typeof value === 'string' && /^-?\d+$/.test(value));
}
