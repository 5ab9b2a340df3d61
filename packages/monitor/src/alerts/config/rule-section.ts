/** Reads the section `rules`: thresholds for each rule, and for prefixes of lock names. */
import type { Rule } from '../rules/rule.ts';
import { isRule, JUDGED_RULES, ruleOf } from '../rules/table.ts';
import { defaultRule } from './defaults.ts';
import type { JsonFields, JsonValue } from './json-reader.ts';
import type { RuleSettings, Thresholds } from './settings.ts';
import { parseDurationMs, parseShare } from './units.ts';

export const COUNT_MAX = 1_000_000;

const DURATION = 'a duration such as "90s" or "10m"';

export function readDuration(value: JsonValue): number | null {
  return value.asParsed(parseDurationMs, DURATION);
}

/** The fields of a rule's thresholds: `above` is where the alert begins, `criticalAbove` its second level. */
export function thresholdFields({ measure, warning, critical }: Rule): string[] {
  if (measure === 'condition') return ['off', 'for'];
  return warning !== null && critical !== null
    ? ['off', 'above', 'criticalAbove', 'for']
    : ['off', 'above', 'for'];
}

export function ruleFields(rule: Rule): string[] {
  const own = [...thresholdFields(rule), 'keepFor'];
  return rule.about === 'lock' ? [...own, 'prefixes'] : own;
}

export function readRules(section: JsonValue): Map<string, RuleSettings> {
  const rules = new Map<string, RuleSettings>();
  for (const { name, value } of section.asProperties('an object of rules') ?? []) {
    const rule = isRule(name) ? ruleOf(name) : null;
    if (rule === null || rule.prometheusOnly) {
      value.refuse(`the name of a rule: ${JUDGED_RULES.map(({ id }) => id).join(', ')}`, `"${name}"`);
      continue;
    }
    rules.set(name, readRule(rule, value));
  }
  return rules;
}

function readRule(rule: Rule, value: JsonValue): RuleSettings {
  const defaults = defaultRule(rule);
  const fields = value.asFields(ruleFields(rule));
  if (fields === null) return defaults;
  const thresholds = readThresholds(rule, value, fields, defaults);
  const keepForMs = fields.read('keepFor', readDuration, defaults.keepForMs);
  const prefixes = (fields.get('prefixes')?.asProperties('an object of prefixes') ?? []).map(
    ({ name, value: own }) => {
      const inner = own.asFields(thresholdFields(rule));
      return {
        prefix: name,
        thresholds: inner === null ? thresholds : readThresholds(rule, own, inner, thresholds),
      };
    },
  );
  prefixes.sort((one, other) => other.prefix.length - one.prefix.length);
  return { ...thresholds, keepForMs, prefixes };
}

function readThresholds(rule: Rule, owner: JsonValue, fields: JsonFields, base: Thresholds): Thresholds {
  const isOff = fields.read('off', (value) => value.asBoolean(), base.isOff);
  const forMs = fields.read('for', readDuration, base.forMs);
  const read = (value: JsonValue): number | null => readThreshold(rule, value);
  const first = fields.read('above', read, base.warning ?? base.critical);
  const second = fields.read('criticalAbove', read, base.critical);
  const warning = base.warning === null ? null : first;
  const critical = base.warning === null ? first : second;
  if (warning !== null && critical !== null && warning > critical) {
    const where = fields.get('criticalAbove') ?? fields.get('above') ?? owner;
    where.refuse('a critical threshold that is not below the warning one');
  }
  return { isOff, warning, critical, forMs };
}

function readThreshold({ measure, compare }: Rule, value: JsonValue): number | null {
  if (measure === 'duration') return readDuration(value);
  if (measure === 'share') return value.asParsed(parseShare, 'a percentage such as "80%"');
  return value.asInteger(compare === 'at-least' ? 1 : 0, COUNT_MAX);
}
