import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { Tally } from '../scripts/test/tally.ts';

/** Several processes of each test start, and some wait for their turns for minutes. The tests have limits of their own. */
const TEST_LIMIT_MS = 1_800_000;
/** Maven, Go and pip may have everything to download. */
const BUILD_LIMIT_MS = 600_000;

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  test: {
    include: ['**/*.test.ts'],
    // Every test measures turns or times, and would measure the others too.
    fileParallelism: false,
    testTimeout: TEST_LIMIT_MS,
    hookTimeout: BUILD_LIMIT_MS,
    reporters: ['default', new Tally()],
  },
});
