/** The warnings of the process. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

interface Warned {
  readonly message: unknown;
  readonly options: unknown;
  readonly context: string | undefined;
}

const user = new AsyncLocalStorage<string>();
let warnings: Warned[] = [];

/** With nothing warned of yet: the module remembers that for the life of the process. */
async function fresh(): Promise<typeof import('../../src/telemetry/warnings.ts')> {
  vi.resetModules();
  return import('../../src/telemetry/warnings.ts');
}

beforeEach(() => {
  warnings = [];
  vi.spyOn(process, 'emitWarning').mockImplementation((message: unknown, options: unknown) => {
    warnings.push({ message, options, context: user.getStore() });
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe('the warning about an abandoned lease', () => {
  test('names the lock, has a code of its own, and says what to do', async () => {
    const { warnAbandoned } = await fresh();
    warnAbandoned('lock "a"');
    const options = { type: 'HoldfastWarning', code: 'HOLDFAST_ABANDONED' };
    expect(warnings).toMatchObject([{ options }]);
    expect(warnings[0]?.message).toMatch(/^lock "a": .* without a release.*\. Keep the lease while you work/);
  });

  test('comes once a name', async () => {
    const { warnAbandoned } = await fresh();
    for (const what of ['lock "a"', 'lock "b"', 'lock "a"', 'mutex "a"', 'lock "b"']) warnAbandoned(what);
    const named = warnings.map(({ message }) => String(message).split(':')[0]);
    expect(named).toEqual(['lock "a"', 'lock "b"', 'mutex "a"']);
  });

  test('ends with a bound: a process warns of so many names and no more', async () => {
    const { WARNED_MAX, warnAbandoned } = await fresh();
    for (let i = 0; i < WARNED_MAX + 10; i += 1) warnAbandoned(`lock "${i}"`);
    expect(warnings).toHaveLength(WARNED_MAX);
  });

  test('is given in no async context of a caller', async () => {
    const { warnAbandoned } = await fresh();
    user.run('ann', () => warnAbandoned('lock "a"'));
    expect(warnings).toMatchObject([{ context: undefined }]);
  });
});

describe('the warning about a channel that may not be subscribed', () => {
  test('names the lock, the channel and what the server said, and says what to do', async () => {
    const { warnDeaf } = await fresh();
    warnDeaf('lock "a"', 'holdfast_session:s', 'NOPERM no\u001b[2J channel');
    expect(warnings).toMatchObject([{ options: { type: 'HoldfastWarning', code: 'HOLDFAST_DEAF' } }]);
    const message = String(warnings[0]?.message);
    expect(message).toMatch(
      /^lock "a": .* subscribe to "holdfast_session:s" \(NOPERM no\\u\{1b\}\[2J channel\)\./,
    );
    expect(message).toMatch(/docs\/operate\/acl\.md$/);
  });

  test('comes once', async () => {
    const { warnDeaf } = await fresh();
    for (const what of ['lock "a"', 'lock "b"']) warnDeaf(what, 'c', 'NOPERM');
    expect(warnings).toHaveLength(1);
  });
});
