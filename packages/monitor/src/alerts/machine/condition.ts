/** What a value means under the settings of a rule. */
import type { RuleSettings, Thresholds } from '../config/settings.ts';
import { formatDuration, formatShare } from '../config/units.ts';
import type { Level, Observation, Rule } from '../rules/rule.ts';
import type { Track } from './alert.ts';

/** A firing alert ends below this share of its threshold, so that a value around the threshold does not flutter. */
const CLEAR_SHARE = 0.9;

/** For a lock the thresholds of the longest prefix that its name begins with. */
export function thresholdsFor(settings: RuleSettings, rule: Rule, subject: string): Thresholds {
  if (rule.about !== 'lock') return settings;
  return settings.prefixes.find(({ prefix }) => subject.startsWith(prefix))?.thresholds ?? settings;
}

export function isBad(rule: Rule, threshold: number | null, value: number, { phase }: Track): boolean {
  if (threshold === null) return false;
  const limit = phase === 'firing' && rule.measure !== 'condition' ? threshold * CLEAR_SHARE : threshold;
  return rule.compare === 'above' ? value > limit : value >= limit;
}

/** `memory 96% of 2 GB (maxmemory), limit 95%`. */
export function summarize(
  rule: Rule,
  thresholds: Thresholds,
  level: Level,
  { words }: Pick<Observation, 'words'>,
): string {
  const threshold = thresholds[level];
  if (rule.measure === 'condition' || threshold === null) return words();
  const shown =
    rule.measure === 'duration'
      ? formatDuration(threshold)
      : rule.measure === 'share'
        ? formatShare(threshold)
        : String(threshold);
  return `${words()}, limit ${shown}`;
}
