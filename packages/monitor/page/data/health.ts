import type { ServerHealth } from '../../src/api/types.ts';

/** What is the matter with a server, after its name: "redis-2:6379 does not answer". */
export const HEALTH_WORDS: Readonly<Record<ServerHealth, string>> = {
  up: 'up',
  down: 'does not answer',
  busy: 'blocked by a script',
  loading: 'loading its data',
  refused: 'refuses the monitor',
};
