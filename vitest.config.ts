import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/test/sequence.ts';
import { Support } from './scripts/test/support.ts';
import { Tally } from './scripts/test/tally.ts';

const SOURCE = fileURLToPath(new URL('packages/holdfast/src', import.meta.url));
const SQL = fileURLToPath(new URL('packages/sql/src', import.meta.url));
const TELEMETRY = fileURLToPath(new URL('packages/telemetry/src', import.meta.url));
const MONITOR = fileURLToPath(new URL('packages/monitor/src', import.meta.url));
const TESTING = fileURLToPath(new URL('packages/testing/src', import.meta.url));

const ALL = 'packages/*/test/**/*.test.ts';

/** Folders whose files wait far more than they work. The others bring crowds of processes and whole builds. */
const WAITING = [
  ...[
    'clients',
    'fault',
    'keys',
    'locking',
    'lua',
    'lua-toolchain',
    'options',
    'runtime',
    'telemetry',
    'topologies',
    'types',
  ].map((folder) => `packages/holdfast/test/${folder}/**/*.test.ts`),
  'packages/testing/test/*.test.ts',
  'packages/monitor/test/*.test.ts',
  'packages/monitor/test/http/*.test.ts',
  'packages/monitor/test/alerts/**/*.test.ts',
];

/**
 * The packages in their users' environments: built, packed, installed, compiled, loaded. They take a fifth of the time of all others;
 * `npm run test:compat` and the matrix have them. `npm test` has those of the library itself.
 */
const ENVIRONMENTS = [
  'packages/cli/test/fresh-clone.test.ts',
  'packages/holdfast/test/compat/**',
  ...['monitor', 'sql', 'telemetry', 'testing'].map((name) => `packages/${name}/test/package/**`),
];
const LEFT_OUT = process.env['HOLDFAST_MATRIX'] === '1' ? [] : ENVIRONMENTS;

export default defineConfig({
  resolve: {
    // Tests that run inside this process see the source; on a fresh clone nothing has been built yet.
    alias: [
      { find: /^holdfast$/, replacement: `${SOURCE}/index.ts` },
      { find: /^holdfast-sql\/sync$/, replacement: `${SQL}/sync.ts` },
      { find: /^holdfast-sql$/, replacement: `${SQL}/index.ts` },
      { find: /^holdfast-telemetry$/, replacement: `${TELEMETRY}/index.ts` },
      { find: /^holdfast-monitor$/, replacement: `${MONITOR}/index.ts` },
      { find: /^holdfast-testing$/, replacement: `${TESTING}/index.ts` },
    ],
  },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'working',
          include: [ALL],
          exclude: [...WAITING, ...LEFT_OUT],
          // They work two fifths of the time. With more of them at a time two cores starve them.
          maxWorkers: 5,
          sequence: { groupOrder: 0 },
          // On a busy machine a process takes seconds to start, and a test starts several. Said here: what a module that
          // test files share sets for itself is in force for the first of them only, because they share a process.
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'waiting',
          include: WAITING,
          maxWorkers: 9,
          sequence: { groupOrder: 1 },
        },
      },
    ],
    // A file leaves nothing behind in its process, so the next one can have it. A new process for each costs half a
    // second of a core, most of it for loading the clients again.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Longer than anything that a test waits for, so that it is the wait that says what did not come.
    testTimeout: 150_000,
    hookTimeout: 150_000,
    reporters: ['default', new Tally(), new Support()],
  },
});
