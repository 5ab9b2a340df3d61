/** Nobody excludes anybody: the control that shows that the guarded counter can fail. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Entrant } from '../contestant.ts';

export const noLock: Entrant = {
  id: 'no-lock',
  name: 'no lock at all',
  settings: 'control: must violate',
  role: 'control',
  client: 'ioredis',
  isTuned: false,
  canKeep: false,
  sends: {},
  open: async () => ({
    async take() {
      await nextTurn();
      return async () => {};
    },
    async close() {},
  }),
};
