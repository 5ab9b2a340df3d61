/** Who plays where: not everyone can do everything, and some settings matter only where callers wait. */
import type { Entrant } from './contestant.ts';
import { entrantOf, ROSTER } from './roster.ts';
import type { Context } from './scenario.ts';

const isContestant = ({ role }: Entrant): boolean => role === 'holdfast' || role === 'peer';

/** Variants that differ only in how they wait are the same where nobody waits. */
export function uncontended({ isAsked }: Context, yardsticks: readonly string[]): Entrant[] {
  const others = ROSTER.filter((each) => isContestant(each) && !each.isTuned && !isStrict(each));
  return [...yardsticks.map(entrantOf), ...others.filter(isAsked)];
}

/**
 * Everyone who can wait. A quick run leaves out the settings of a README where there are tuned ones, because they
 * mostly measure their own delay of 100 or 200 ms.
 */
export function contended(context: Context, yardstick: string): Entrant[] {
  const { isAsked, isQuick } = context;
  const others = ROSTER.filter(isContestant).filter((each) => !isQuick || !hasTuned(each));
  return [entrantOf(yardstick), ...others.filter(isAsked)];
}

/** Everyone once, with the settings that wait the most eagerly. */
export function eager(context: Context): Entrant[] {
  return ROSTER.filter((each) => isContestant(each) && !hasTuned(each) && !isStrict(each)).filter(
    context.isAsked,
  );
}

/** The control plays beside the contended ones, to show that the guard works. */
export function withControl(entrants: readonly Entrant[], { isAsked }: Context): Entrant[] {
  const control = entrantOf('no-lock');
  return isAsked(control) ? [...entrants, control] : [...entrants];
}

function isStrict({ id }: Entrant): boolean {
  return id.endsWith('-strict');
}

function hasTuned(entrant: Entrant): boolean {
  return !entrant.isTuned && ROSTER.some(({ id }) => id === `${entrant.id}-tuned`);
}
