/** Several calls of one script as one request, and its one reply as an answer to each. */
import { BUNDLE_FAILED } from '../scripts/outcome.ts';
import type { Call, CallResult } from './call.ts';
import { CallFailure, type Reply, type ScriptCall, type ScriptText } from './client.ts';

/** Keys and arguments of all of them, laid end to end. */
export function bundleRequest(script: ScriptText, calls: readonly Call[]): ScriptCall {
  const keys: string[] = [];
  const args: string[] = [];
  for (const { request } of calls) {
    keys.push(...request.keys);
    args.push(...request.args);
  }
  return { script, keys, args };
}

/** One answer a call, in their order. */
export function bundleAnswers(reply: unknown, count: number): CallResult[] {
  if (!Array.isArray(reply) || reply.length !== count) {
    const failure = new CallFailure('unknown', `a reply we cannot read: ${JSON.stringify(reply)}`);
    return Array.from({ length: count }, () => failure);
  }
  return reply.map(answerOf);
}

function answerOf(item: unknown): CallResult {
  if (!Array.isArray(item) || item[0] !== BUNDLE_FAILED) return item as Reply;
  const text = String(item[1]);
  return new CallFailure('reply', text, /^[A-Z]+/.exec(text)?.[0] ?? '');
}
