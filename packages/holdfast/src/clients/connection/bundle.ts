/** Several calls of one script as one request, and its one reply as an answer to each. */
import { assert } from '../../runtime/assert.ts';
import { describeReply } from '../../runtime/describe.ts';
import { BUNDLE_FAILED } from '../../scripts/outcome.ts';
import { CallFailure, type Reply, type ScriptCall } from '../client.ts';
import type { Call, CallResult } from './call.ts';
import { replyWord } from './reply-errors.ts';

/**
 * A call by itself is sent as it is. Of several, keys are laid end to end; arguments come by position, and one that is
 * the same for all comes once: the first argument says which do.
 */
export function requestOf(calls: readonly Call[]): ScriptCall {
  const [first] = calls;
  assert(first !== undefined, () => 'a request is made of at least one call');
  const { script, args: firstArgs } = first.request;
  if (calls.length === 1) return first.request;
  assert(script.bundle !== undefined, () => `${script.name} can be bundled`);
  const keys: string[] = [];
  for (const { request } of calls) keys.push(...request.keys);
  let shared = '';
  const args: string[] = [''];
  for (const [position, value] of firstArgs.entries()) {
    const isShared = calls.every(({ request }) => request.args[position] === value);
    shared += isShared ? '1' : '0';
    if (isShared) args.push(value);
    // Every call of a script has as many arguments as its first.
    else for (const { request } of calls) args.push(request.args[position] as string);
  }
  args[0] = shared;
  return { script: script.bundle, keys, args };
}

/** One answer a call, in their order. */
export function answersOf(calls: readonly Call[], reply: unknown): readonly CallResult[] {
  // The scripts are ours, and answer in these shapes only.
  if (calls.length === 1) return [reply as Reply];
  if (Array.isArray(reply) && reply.length === calls.length) return reply.map(answerOf);
  const failure = new CallFailure('unknown', `a reply we cannot read: ${describeReply(reply)}`);
  return calls.map(() => failure);
}

function answerOf(item: unknown): CallResult {
  if (!Array.isArray(item) || item[0] !== BUNDLE_FAILED) return item as Reply;
  const text = String(item[1]);
  return new CallFailure('reply', text, replyWord(new Error(text)) ?? '');
}
