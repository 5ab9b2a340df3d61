/** Bugs that are planted on purpose, each where somebody might make it. With each of them a test must fail. */
export interface PlantedBug {
  readonly name: string;
  /** From the folder of the package. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** Further changes that belong to it. */
  readonly also?: readonly (readonly [from: string, to: string])[];
  /** The test file, and the title of the test that notices. */
  readonly test: readonly [file: string, title: string];
}

const FENCES = 'fences.test.ts';

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'an equal fence is refused',
    file: 'src/verbs/check-fence.ts',
    from: 'if (seen <= fence) return;',
    to: 'if (seen < fence) return;',
    test: [FENCES, 'a first fence, an equal one and a newer one pass'],
  },
  {
    name: 'affected rows alone decide',
    file: 'src/verbs/check-fence.ts',
    from: 'if (insertId !== undefined && Number(insertId) >= fence) return Number(insertId);',
    to: 'if (insertId !== undefined) return count === 0 ? fence + 1 : fence;',
    test: [FENCES, 'a first fence, an equal one and a newer one pass'],
  },
  {
    // The upsert changes the row, and so a plain SELECT alone would still see it, in whatever snapshot.
    name: 'INSERT IGNORE claims the key, and a plain SELECT reads the result',
    file: 'src/verbs/idempotent.ts',
    from: '\n) => `INSERT INTO',
    to: '\n) => `INSERT IGNORE INTO',
    also: [
      ['\nON DUPLICATE KEY UPDATE hits = hits + 1', ''],
      [' LOCK IN SHARE MODE`', '`'],
    ],
    test: ['isolation.test.ts', 'a duplicate that waits for the first caller replays its result'],
  },
  {
    name: 'the check comes after the read',
    file: 'test/isolation.test.ts',
    from: "await checkFence(second.tx, NEWER);\n          const [item] = await second.run('SELECT stock FROM item');",
    to: "const [item] = await second.run('SELECT stock FROM item');\n          await checkFence(second.tx, NEWER);",
    test: ['isolation.test.ts', 'a newer owner waits for the older one, and reads what that has written'],
  },
  {
    name: 'retry sends no ROLLBACK',
    file: 'src/verbs/retry.ts',
    from: "yield* ask('ROLLBACK');",
    to: '',
    test: ['pitfalls.test.ts', 'retry sends ROLLBACK'],
  },
  {
    name: 'a swallowed StaleFenceError may commit on PostgreSQL',
    file: 'src/verbs/transaction.ts',
    from: "if (dialect !== 'postgresql') return;",
    to: "if (dialect !== 'postgresql' || why !== '') return;",
    test: ['pitfalls.test.ts', 'a swallowed StaleFenceError commits nothing on PostgreSQL'],
  },
  {
    name: 'a failed body is not undone',
    file: 'src/verbs/idempotent.ts',
    from: 'yield* undo(context, savepoint);',
    to: '',
    test: ['idempotent.test.ts', 'a body that throws leaves nothing'],
  },
  {
    name: 'fences are checked in the order of the caller',
    file: 'src/verbs/check-fence.ts',
    from: '.sort((a, b) => Buffer.compare(Buffer.from(a.resource), Buffer.from(b.resource)))',
    to: '',
    test: [FENCES, 'two owners of two resources, in opposite orders, do not block each other'],
  },
  {
    name: 'tables are made without the advisory lock',
    file: 'src/verbs/tables.ts',
    from: 'PERFORM pg_advisory_xact_lock(',
    to: 'PERFORM abs(',
    test: ['pitfalls.test.ts', 'many processes may migrate at the same time'],
  },
  {
    name: 'fencedUpdate calls a row changed that it has only found',
    file: 'src/verbs/fenced-update.ts',
    from: 'const again = yield* changed(context, table, column, { set, where, fence });',
    to: 'const again = 1;',
    test: ['races.test.ts', 'fencedUpdate changes a row that comes between its update'],
  },
  {
    name: 'retry commits without a look at its transaction',
    file: 'src/verbs/retry.ts',
    from: 'if (!(yield* isOpen(context))) throw new NotInTransactionError(ENDED);',
    to: '',
    test: ['races.test.ts', 'is no success when its function has ended the transaction'],
  },
  {
    name: 'a connection lost at COMMIT is retried',
    file: 'src/dialects/error-codes.ts',
    from: "const POSTGRESQL = ['40001'",
    to: "const POSTGRESQL = ['ECONNRESET', '40001'",
    test: ['races.test.ts', 'is not retried: nobody knows whether the transaction has committed'],
  },
];
