/**
 * In this folder: the Lua scripts as typed calls (`generated.ts`, made from the headers in `lua/`), and what those
 * calls are made of: how arguments are written, replies decoded, and many calls bundled. All layers above import from
 * here.
 */
import { assert } from '../runtime/assert.ts';
import { describeReply } from '../runtime/describe.ts';
import type { Reply, Scalar, ScriptCall, ScriptText } from './script-call.ts';

/** A Lua script seen from TypeScript: typed arguments in, a named outcome out. */
export interface Script<Input, Outcome> {
  readonly text: ScriptText;
  call(input: Input): ScriptCall;
  /** Throws when the reply is not one that the script can give. */
  decode(reply: Reply): Outcome;
}

/** A script that does one thing to each of many keys and answers with one outcome a key, in their order. */
export interface BatchScript<Item, Outcome> {
  readonly text: ScriptText;
  call(batch: readonly Item[]): ScriptCall;
  /** `count` is how many items were sent. */
  decode(reply: Reply, count: number): Outcome[];
}

/** The items of a reply: the outcome's number, then its payload. */
export function openReply(script: ScriptText, reply: Reply): readonly Scalar[] {
  // The type already says so; a client that maps replies to something else is why it is looked at.
  if (Array.isArray(reply)) return reply as readonly Scalar[];
  return refuseReply(script, reply);
}

export function openBatch(script: ScriptText, reply: Reply, count: number): readonly Scalar[] {
  const items = openReply(script, reply);
  requireItems(script, items, count);
  return items;
}

export function requireItems(script: ScriptText, items: readonly Scalar[], count: number): void {
  if (items.length !== count) refuseReply(script, items);
}

export function integerAt(script: ScriptText, items: readonly Scalar[], index: number): number {
  const item = items[index];
  return typeof item === 'number' && Number.isSafeInteger(item) ? item : refuseReply(script, items);
}

/** A reply that is one integer and nothing else. */
export function bareInteger(script: ScriptText, reply: number): number {
  return Number.isSafeInteger(reply) ? reply : refuseReply(script, reply);
}

export function stringAt(script: ScriptText, items: readonly Scalar[], index: number): string {
  const item = items[index];
  return typeof item === 'string' ? item : refuseReply(script, items);
}

/** All items from `index` on. */
export function stringsFrom(script: ScriptText, items: readonly Scalar[], index: number): readonly string[] {
  const rest = items.slice(index);
  return rest.every((item) => typeof item === 'string') ? rest : refuseReply(script, items);
}

/** The one way out for a reply that the script's header does not allow. */
export function refuseReply(script: ScriptText, reply: Reply): never {
  assert(
    false,
    () => `the script ${script.name} answered ${describeReply(reply)}, which its header does not allow`,
  );
}
