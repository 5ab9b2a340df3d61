/** redlock 5.0.0-beta.2: polls; decides with the majority; renews inside `using`. */
import Redlock from 'redlock-5';
import type { Participant } from '../participant.ts';
import { redlockParticipants } from './redlock-family.ts';

export const redlock5: readonly Participant[] = redlockParticipants(
  'redlock-5',
  'redlock 5.0.0-beta.2',
  (clients, settings) => new Redlock(clients, settings),
);
