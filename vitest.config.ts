import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { Support } from './scripts/vitest-support.ts';
import { Tally } from './scripts/vitest-tally.ts';

const SOURCE = fileURLToPath(new URL('packages/holdfast/src', import.meta.url));

export default defineConfig({
  resolve: {
    // Tests that run inside this process see the source; on a fresh clone nothing has been built yet.
    alias: [
      { find: /^holdfast$/, replacement: `${SOURCE}/index.ts` },
      { find: /^holdfast\/testing$/, replacement: `${SOURCE}/testing/index.ts` },
    ],
  },
  test: {
    include: ['packages/*/test/**/*.test.ts'],
    // They wait more than they work, so two cores bear three. Each file starts servers of its own: with more workers
    // than this they starve each other on a small machine.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ['default', new Tally(), new Support()],
  },
});
