import { defineConfig } from 'vitest/config';
import { Tally } from './scripts/vitest-tally.ts';

export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts'],
    // Each file starts servers of its own: more workers than this and they starve each other on a small machine.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ['default', new Tally()],
  },
});
