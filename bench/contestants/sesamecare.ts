/** @sesamecare-oss/redlock 1.4.0, the maintained fork of redlock 5. */
import { Redlock } from '@sesamecare-oss/redlock';
import type { Entrant } from '../contestant.ts';
import { redlockEntrants } from './redlock-family.ts';

export const sesamecare: readonly Entrant[] = redlockEntrants(
  'sesamecare',
  '@sesamecare-oss/redlock 1.4.0',
  (clients, settings) => new Redlock(clients, settings),
);
