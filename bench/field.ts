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

/** Everyone who can wait, with every setting. */
export function contended(context: Context, yardstick: string): Entrant[] {
  return [
    entrantOf(yardstick),
    ...ROSTER.filter(isContestant).filter(isTimely(context)).filter(context.isAsked),
  ];
}

/** Everyone once, with the settings that wait the most eagerly. */
export function eager(context: Context): Entrant[] {
  const all = ROSTER.filter((each) => isContestant(each) && isEager(each) && !isStrict(each));
  return all.filter(isTimely(context)).filter(context.isAsked);
}

/**
 * A quick run leaves out the settings of a README where there are tuned ones, because they mostly measure their own
 * delay of 100 or 200 ms; and ourselves on the second client, which waits by the same code.
 */
function isTimely({ isQuick }: Context): (entrant: Entrant) => boolean {
  return (entrant) => {
    if (!isQuick) return true;
    return isEager(entrant) && !(entrant.role === 'holdfast' && entrant.client === 'node-redis');
  };
}

/** The control plays beside the contended ones, to show that the guard works. */
export function withControl(entrants: readonly Entrant[], { isAsked }: Context): Entrant[] {
  const control = entrantOf('no-lock');
  return isAsked(control) ? [...entrants, control] : [...entrants];
}

function isStrict({ id }: Entrant): boolean {
  return id.endsWith('-strict');
}

/** Whether there are no settings of it that wait more eagerly. */
export function isEager(entrant: Entrant): boolean {
  return entrant.isTuned || !ROSTER.some(({ id }) => id === `${entrant.id}-tuned`);
}
