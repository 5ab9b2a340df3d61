/**
 * The alert rules for Prometheus, made from the table of rules and the settings. YAML by hand: JSON strings are YAML.
 *
 * In this folder: the alerts as Prometheus and Alertmanager name them. Only `alerts/` imports from here.
 */
import { defaultSettings } from '../config/defaults.ts';
import type { AlertSettings, RuleSettings } from '../config/settings.ts';
import { formatDuration } from '../config/units.ts';
import { LEVELS, type Level, type Rule } from '../rules/rule.ts';
import { RULES } from '../rules/table.ts';
import { alertName } from './alert-name.ts';

/** An increase is extrapolated to the window, so five events may count as 5.2 and four as 4.2. */
const EVENT_ROUNDING = 0.5;

export function prometheusRules(settings: AlertSettings = defaultSettings()): string {
  const hasPrefixes = [...settings.rules.values()].some(({ prefixes }) => prefixes.length > 0);
  const rules = RULES.flatMap((rule) => {
    const own = settings.rules.get(rule.id);
    return own === undefined || own.isOff ? [] : LEVELS.flatMap((level) => ruleLines(rule, own, level));
  });
  return [
    '# Made by `holdfast monitor --prometheus-rules` from the rules that the monitor itself judges by.',
    ...(hasPrefixes
      ? ['# Thresholds for prefixes of names are left out: the metrics have no names of locks.']
      : []),
    'groups:',
    '  - name: holdfast',
    '    rules:',
    ...rules,
    '',
  ].join('\n');
}

function ruleLines(rule: Rule, own: RuleSettings, level: Level): string[] {
  const threshold = own[level];
  if (threshold === null) return [];
  const annotations = { summary: `{{ $labels.fleet }}: ${rule.title}`, why: rule.why, todo: rule.remedy };
  return [
    `      - alert: ${alertName(rule.id)}`,
    `        expr: ${JSON.stringify(expressionOf(rule, threshold))}`,
    ...(own.forMs === 0 ? [] : [`        for: ${prometheusDuration(own.forMs)}`]),
    '        labels:',
    `          severity: ${level}`,
    `          rule: ${rule.id}`,
    '        annotations:',
    ...Object.entries(annotations).map(([name, text]) => `          ${name}: ${JSON.stringify(text)}`),
  ];
}

function expressionOf({ twin, measure, windowMs }: Rule, threshold: number): string {
  const inUnit = measure === 'duration' ? threshold / 1_000 : threshold;
  const shown = windowMs === null ? inUnit : inUnit - EVENT_ROUNDING;
  return twin.replace('$', String(shown));
}

/** Prometheus knows no fractions, and no more than one unit is needed. */
function prometheusDuration(ms: number): string {
  const text = formatDuration(ms);
  return /^\d+(ms|s|m|h|d)$/.test(text) ? text : `${Math.round(ms)}ms`;
}
