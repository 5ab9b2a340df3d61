/** The options of the verbs of `Locks`: a mistyped one is refused, rather than doing more than was asked. */

import { EmbeddedNode } from 'holdfast-testing';
import { expect, test } from 'vitest';
import { LockConfigError, Locks } from '../../src/index.ts';

/** Takes what a caller without types may hand in. */
type Untyped = (options: unknown) => Promise<unknown>;

function verbsOf(locks: Locks): Record<string, Untyped> {
  return {
    inspect: (options) => locks.inspect('report', options as never),
    list: async (options) => locks.list(options as never).next(),
    forceRelease: (options) => locks.forceRelease('report', options as never),
    close: (options) => locks.close(options as never),
  };
}

test.each([
  ['inspect', { recrd: true }, 'expected an option of inspect among record, got "recrd"'],
  ['inspect', { record: 1 }, 'expected record to be a boolean, got 1'],
  ['list', { prefx: 'a' }, 'expected an option of list among prefix, all, record, got "prefx"'],
  ['list', null, 'expected the options of list to be an object, got null'],
  ['list', { all: 1 }, 'expected all to be a boolean, got 1'],
  ['forceRelease', { ownr: 'a' }, 'expected an option of forceRelease among owner, reason, got "ownr"'],
  ['forceRelease', null, 'expected the options of forceRelease to be an object, got null'],
  ['forceRelease', 'a', 'expected the options of forceRelease to be an object, got "a"'],
  ['close', { grace: 5_000 }, 'expected an option of close among graceMs, got "grace"'],
  ['close', { graceMs: Number.POSITIVE_INFINITY }, 'expected graceMs to be a finite number of at least 0'],
] as const)('%s refuses %j, and does nothing', async (verb, options, message) => {
  await using node = new EmbeddedNode();
  await using locks = new Locks(node.client());
  const lease = await locks.lock('report').acquire({ waitMs: 5_000 });
  const refused = verbsOf(locks)[verb]?.(options);
  await expect(refused).rejects.toThrow(LockConfigError);
  await expect(refused).rejects.toThrow(message);
  expect(lease.isHeld).toBe(true);
  expect(await locks.inspect('report')).not.toBeNull();
});
