/** Several calls of one script as one request, and its one reply as an answer to each. */
import { assert } from '../../runtime/assert.ts';
import { describeReply } from '../../runtime/describe.ts';
import { BUNDLE_FAILED } from '../../scripts/outcome.ts';
import { CallFailure, type Reply, type ScriptCall } from '../client.ts';
import type { Call, CallResult } from './call.ts';
import { failureOf } from './reply-errors.ts';

/**
 * A call by itself is sent as it is. Of several, keys and arguments come by position, and an argument that is the same for all
 * comes once: the first argument of the request says which do.
 */
export function scriptRequestOf(calls: readonly Call[]): ScriptCall {
  const [firstCall] = calls;
  assert(firstCall !== undefined, () => 'a request is made of at least one call');
  const first = scriptOf(firstCall);
  if (calls.length === 1) return first;
  const { script, keys: firstKeys, args: firstArgs } = first;
  const requests = calls.map(scriptOf);
  assert(script.bundle !== undefined, () => `${script.name} can be bundled`);
  const keys: string[] = [];
  // Every call of a script has as many keys and arguments as its first.
  for (let position = 0; position < firstKeys.length; position += 1) {
    for (const request of requests) keys.push(request.keys[position] as string);
  }
  let shared = '';
  const args: string[] = [''];
  for (let position = 0; position < firstArgs.length; position += 1) {
    const isShared = isSharedAt(requests, position);
    shared += isShared ? '1' : '0';
    for (const request of isShared ? [first] : requests) args.push(request.args[position] as string);
  }
  args[0] = shared;
  return { script: script.bundle, keys, args };
}

/** Whether all calls have the same argument there. */
function isSharedAt(requests: readonly ScriptCall[], position: number): boolean {
  const value = requests[0]?.args[position];
  for (const { args } of requests) if (args[position] !== value) return false;
  return true;
}

/** Reads the reply of a bundle: one answer for each call, in the order of the calls. */
export function answersOf(calls: readonly Call[], reply: unknown): readonly CallResult[] {
  // The scripts are ours, and answer in these shapes only. Whoever sends another command reads its reply.
  if (calls.length === 1) return [reply as Reply];
  if (Array.isArray(reply) && reply.length === calls.length) return reply.map(answerOf);
  const failure = new CallFailure('unknown', `a reply we cannot read: ${describeReply(reply)}`);
  return calls.map(() => failure);
}

const isScript = (): string => 'only calls of scripts travel together';

function scriptOf({ request }: Call): ScriptCall {
  assert(request.script !== null, isScript);
  return request;
}

function answerOf(item: unknown): CallResult {
  if (!Array.isArray(item) || item[0] !== BUNDLE_FAILED) return item as Reply;
  return failureOf(new Error(String(item[1])), 'reply');
}
