/** Which participants take part in a scenario: some cannot renew, some settings differ only where callers wait. */
import type { Participant } from './participant.ts';
import { PARTICIPANTS, participantOf } from './participant-list.ts';

/** What the command line asked for. */
export interface Selection {
  readonly isQuick: boolean;
  /** Compare the present code with an earlier commit and with nothing else. */
  readonly isBeforeRun: boolean;
  /** Whether the command line asked for the participant. Yardsticks take part unasked, because ratios need them. */
  isAsked(participant: Participant): boolean;
}

/** A library for Node.js on Redis. */
const isLibrary = ({ role, client }: Participant): boolean =>
  (client === 'ioredis' || client === 'node-redis') && (role === 'holdfast' || role === 'peer');

/** Everyone once: settings that differ only in how they wait are the same where nobody waits. */
export function uncontended(selection: Selection, yardsticks: readonly string[]): Participant[] {
  const others = PARTICIPANTS.filter((each) => isLibrary(each) && !each.isTuned && !isStrict(each));
  return [...yardsticksOf(selection, yardsticks), ...others.filter(selection.isAsked)];
}

/** Everyone who can wait, with every setting. */
export function contended(selection: Selection, yardstick: string): Participant[] {
  const others = PARTICIPANTS.filter(isLibrary).filter(fits(selection));
  return [...yardsticksOf(selection, [yardstick]), ...others.filter(selection.isAsked)];
}

/** Everyone once, with the settings that retry fastest. */
export function eager(selection: Selection): Participant[] {
  const all = PARTICIPANTS.filter((each) => isLibrary(each) && isEager(each) && !isStrict(each));
  return all.filter(fits(selection)).filter(selection.isAsked);
}

/** Locks of other kinds than a library for Node.js on Redis. */
export function ofOtherKinds(selection: Selection): Participant[] {
  return PARTICIPANTS.filter((each) => each.role === 'peer' && !isLibrary(each)).filter(selection.isAsked);
}

/** With the control, which takes no lock and so shows that the guarded counter detects violations. */
export function withControl(participants: readonly Participant[], selection: Selection): Participant[] {
  const control = participantOf('no-lock');
  return selection.isAsked(control) ? [...participants, control] : [...participants];
}

/** Whether the library has no settings that retry faster than these. */
export function isEager(participant: Participant): boolean {
  return participant.isTuned || !PARTICIPANTS.some(({ id }) => id === `${participant.id}-tuned`);
}

function isStrict({ id }: Participant): boolean {
  return id.endsWith('-strict');
}

function yardsticksOf({ isBeforeRun }: Selection, ids: readonly string[]): Participant[] {
  return isBeforeRun ? [] : ids.map(participantOf);
}

/**
 * A quick run omits README settings where tuned settings exist, because README settings mostly measure their own
 * retry delay of 100 or 200 ms. It also omits holdfast on node-redis, which waits by the same code as on ioredis.
 */
function fits({ isQuick }: Selection): (participant: Participant) => boolean {
  return (participant) => {
    if (!isQuick) return true;
    return isEager(participant) && !(participant.role === 'holdfast' && participant.client === 'node-redis');
  };
}
