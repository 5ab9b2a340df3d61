/** The table of rules as docs/operate/alerts.md shows it. */
import { formatDuration, formatShare } from '../../../src/alerts/config/units.ts';
import type { Rule } from '../../../src/alerts/rules/rule.ts';
import { RULES } from '../../../src/alerts/rules/table.ts';

export function ruleTable(): string {
  const rows = RULES.map((rule) => {
    const { id, why, remedy } = rule;
    return `| \`${id}\` | ${whenOf(rule)} | ${why} | ${remedy} |`;
  });
  return ['| rule | when | why | what to do |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function whenOf(rule: Rule): string {
  const { title, forMs, warning, critical, measure, windowMs, prometheusOnly } = rule;
  const levels = [
    ...(warning === null ? [] : [`warning${shown(rule, warning)}`]),
    ...(critical === null ? [] : [`critical${shown(rule, critical)}`]),
  ].join(', ');
  const window = windowMs === null ? '' : ` within ${formatDuration(windowMs)}`;
  const duration = forMs === 0 ? '' : ` for ${formatDuration(forMs)}`;
  const only = prometheusOnly ? '; only in the file for Prometheus' : '';
  return `${title}: ${levels}${measure === 'condition' ? '' : window}${duration}${only}`;
}

function shown({ measure, compare }: Rule, threshold: number): string {
  if (measure === 'condition') return '';
  const sign = compare === 'above' ? 'above' : 'at';
  if (measure === 'duration') return ` ${sign} ${formatDuration(threshold)}`;
  return measure === 'share' ? ` ${sign} ${formatShare(threshold)}` : ` ${sign} ${threshold}`;
}
