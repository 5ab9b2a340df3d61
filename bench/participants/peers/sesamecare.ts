/** @sesamecare-oss/redlock 1.4.0, the maintained fork of redlock 5. */
import { Redlock } from '@sesamecare-oss/redlock';
import type { Participant } from '../participant.ts';
import { redlockParticipants } from './redlock-family.ts';

export const sesamecare: readonly Participant[] = redlockParticipants(
  'sesamecare',
  '@sesamecare-oss/redlock 1.4.0',
  (clients, settings) => new Redlock(clients, settings),
);
