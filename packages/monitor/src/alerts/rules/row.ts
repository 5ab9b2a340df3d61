/** Shorthand for a row of the table: what a row does not say has these values. */
import type { Rule } from './rule.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** Over how long events are counted. */
const WINDOW_MS: number = 5 * MINUTE_MS;

export const seconds = (count: number): number => count * SECOND_MS;
export const minutes = (count: number): number => count * MINUTE_MS;

type Row = Pick<Rule, 'id' | 'about' | 'title' | 'why' | 'remedy' | 'twin'> & Partial<Rule>;

export function row(given: Row): Rule {
  return {
    measure: 'condition',
    compare: given.measure === undefined ? 'at-least' : 'above',
    warning: null,
    critical: null,
    forMs: 0,
    windowMs: null,
    prometheusOnly: false,
    ...given,
  };
}

/** A row that counts events of the last five minutes. */
export function counting(given: Row): Rule {
  return row({ measure: 'count', compare: 'at-least', windowMs: WINDOW_MS, ...given });
}
