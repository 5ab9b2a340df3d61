/** The control: takes no lock, so that the guarded counter must count violations. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Participant } from './participant.ts';

export const noLock: Participant = {
  id: 'no-lock',
  name: 'no lock at all',
  settings: 'control: must violate',
  role: 'control',
  client: 'ioredis',
  isTuned: false,
  canRenew: false,
  sends: {},
  open: async () => ({
    async take() {
      await nextTurn();
      return async () => {};
    },
    async close() {},
  }),
};
