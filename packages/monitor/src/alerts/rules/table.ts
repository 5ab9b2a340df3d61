/**
 * The table of rules. The monitor judges by it, the configuration and its schema are checked against it, and the rule
 * file for Prometheus and the list in docs/operate/alerts.md are made from it.
 *
 * In this folder: the rules, what each sees in the figures, and the judge that asks them all. Only `alerts/` imports
 * from here.
 */
import { LOCK_RULES } from './lock-table.ts';
import type { Rule } from './rule.ts';
import { SERVER_RULES } from './server-table.ts';

export const RULES: readonly Rule[] = [...LOCK_RULES, ...SERVER_RULES];

const byId = new Map(RULES.map((rule) => [rule.id, rule]));

export function ruleOf(id: string): Rule {
  const rule = byId.get(id);
  if (rule === undefined) throw new Error(`expected the name of a rule, got ${id}`);
  return rule;
}

export function isRule(id: string): boolean {
  return byId.has(id);
}

/** The rules that the monitor judges itself. */
export const JUDGED_RULES: readonly Rule[] = RULES.filter(({ prometheusOnly }) => !prometheusOnly);
