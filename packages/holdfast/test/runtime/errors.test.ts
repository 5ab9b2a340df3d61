import { describe, expect, test } from 'vitest';
import * as onceErrors from '../../src/errors/once-errors.ts';
import * as lockErrors from '../../src/errors.ts';

const errors = { ...lockErrors, ...onceErrors };

const details = { lock: 'order:1', elapsedMs: 12, cause: new Error('underneath') };

/** Every error with its code, made with everything it can carry. */
const FAMILY: readonly (readonly [
  code: lockErrors.LockErrorCode,
  name: string,
  make: (from: typeof errors) => lockErrors.LockError,
])[] = [
  ['ELOCKTIMEOUT', 'LockTimeoutError', (from) => new from.LockTimeoutError('m', details)],
  ['ELOCKABORTED', 'LockAbortedError', (from) => new from.LockAbortedError('m', details)],
  [
    'ELOCKLOST',
    'LockLostError',
    (from) => new from.LockLostError('m', { ...details, reason: 'gone', fence: 7 }),
  ],
  ['ELOCKNOTHELD', 'LockNotHeldError', (from) => new from.LockNotHeldError('m', details)],
  ['ELOCKUNKNOWN', 'LockUnknownError', (from) => new from.LockUnknownError('m', details)],
  ['ELOCKUNAVAILABLE', 'LockUnavailableError', (from) => new from.LockUnavailableError('m', details)],
  ['ELOCKCONFLICT', 'LockConflictError', (from) => new from.LockConflictError('m', details)],
  ['ELOCKCONFIG', 'LockConfigError', (from) => new from.LockConfigError('m', details)],
  ['ELOCKCLOSED', 'LockClosedError', (from) => new from.LockClosedError('m', details)],
  ['ELEADERSTUCK', 'LeaderStuckError', (from) => new from.LeaderStuckError('m', { ...details, fence: 7 })],
  ['EJOBTIMEOUT', 'JobTimeoutError', (from) => new from.JobTimeoutError('m', details)],
  [
    'EONCEFAILED',
    'OnceFailedError',
    (from) => new from.OnceFailedError('m', { ...details, reason: 'failed', attempt: 1 }),
  ],
  ['EONCEMISMATCH', 'OnceMismatchError', (from) => new from.OnceMismatchError('m', details)],
  ['EONCERESULT', 'OnceResultError', (from) => new from.OnceResultError('m', { ...details, reason: 'size' })],
];

const CLASSES = Object.values(errors).filter((exported) => exported !== lockErrors.hasCode);

/** Two copies of a package in one process are normal with npm. */
async function secondCopy(): Promise<typeof errors> {
  const copyOf = async <Module>(path: string): Promise<Module> => {
    const url = `${new URL(path, import.meta.url).pathname}?copy=2`;
    return (await import(/* @vite-ignore */ url)) as Module;
  };
  const [locks, once] = await Promise.all([
    copyOf<typeof lockErrors>('../../src/errors.ts'),
    copyOf<typeof onceErrors>('../../src/errors/once-errors.ts'),
  ]);
  return { ...locks, ...once };
}

describe('the errors', () => {
  test('are the base and one class for each code', () => {
    expect(CLASSES).toHaveLength(FAMILY.length + 1);
    expect(new Set(FAMILY.map(([code]) => code)).size).toBe(FAMILY.length);
  });

  test.each(FAMILY)('%s is a %s with its lock, its time and its cause', (code, name, make) => {
    const error = make(errors);
    expect(error).toMatchObject({ code, name, message: 'm', ...details });
    expect(error).toBeInstanceOf(Error);
    expect(error.stack).toContain(import.meta.filename);
    expect(String(error)).toBe(`${name}: m`);
  });

  test.each(FAMILY)(
    '%s is an instance of its own class and of the base, and of no other',
    (_, name, make) => {
      const classes = CLASSES.filter((each) => make(errors) instanceof each).map((each) => each.name);
      expect(classes.toSorted()).toEqual(['LockError', name].toSorted());
    },
  );

  test.each(FAMILY)(
    '%s of another copy of this package is an instance of the same classes here',
    async (_, name, make) => {
      const copy = await secondCopy();
      expect(copy.LockError).not.toBe(errors.LockError);
      const foreign = make(copy);
      expect(Object.getPrototypeOf(foreign)).not.toBe(Object.getPrototypeOf(make(errors)));
      const classes = CLASSES.filter((each) => foreign instanceof each).map((each) => each.name);
      expect(classes.toSorted()).toEqual(['LockError', name].toSorted());
    },
  );

  test.each([null, undefined, 'ELOCKLOST', new Error('m'), { code: 'ELOCKLOST' }, Object.create(null)])(
    'do not claim what is none of them: %s',
    (value) => {
      expect(CLASSES.some((each) => value instanceof each)).toBe(false);
    },
  );

  test('show their facts in a log and keep our mark out of it', () => {
    const error = new errors.LockLostError('m', { lock: 'a', reason: 'expired', fence: 9 });
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({
      code: 'ELOCKLOST',
      lock: 'a',
      reason: 'expired',
      fence: 9,
    });
    expect(Object.keys(error)).not.toContain('Symbol(holdfast.error.code)');
    expect(
      Object.getOwnPropertySymbols(error).filter((mark) =>
        Object.prototype.propertyIsEnumerable.call(error, mark),
      ),
    ).toEqual([]);
  });

  test('without a cause have none, rather than one that is undefined', () => {
    expect('cause' in new errors.LockTimeoutError('m', { lock: 'a' })).toBe(false);
  });

  test('have no line in a log for what they do not know', () => {
    expect(Object.keys(new errors.LockLostError('m', { reason: 'gone' })).toSorted()).toEqual([
      'code',
      'name',
      'reason',
    ]);
    expect(Object.keys(new errors.LockTimeoutError('m', { lock: 'a', elapsedMs: 12.75 })).toSorted()).toEqual(
      ['code', 'elapsedMs', 'lock', 'name'],
    );
    expect(new errors.LockTimeoutError('m', { elapsedMs: 12.75 }).elapsedMs).toBe(12);
  });

  test.each(FAMILY)('%s begins its stack with %s, and ends it where it was made', (_, name, make) => {
    const lines = make(errors).stack?.split('\n') ?? [];
    expect(lines[0]).toBe(`${name}: m`);
    expect(lines[1]).toContain(import.meta.filename);
  });

  test('carry what only they know', () => {
    const holder = { owner: 'x:1', ttlMs: 40 };
    const servers = [{ server: 's', kind: 'unknown', text: 't' }] as const;
    const outcome = { status: 'fulfilled', value: 5 } as const;
    expect(new errors.LockTimeoutError('m', { holder }).holder).toBe(holder);
    expect(new errors.LockUnavailableError('m', { servers }).servers).toBe(servers);
    expect(new errors.LockUnavailableError('m').servers).toEqual([]);
    expect(new errors.LockLostError('m', { reason: 'gone', outcome }).outcome).toBe(outcome);
  });
});
