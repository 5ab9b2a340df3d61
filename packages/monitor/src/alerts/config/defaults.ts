/** What the configuration leaves out. */
import type { Level, Rule } from '../rules/rule.ts';
import { RULES } from '../rules/table.ts';
import type { AlertSettings, RuleSettings } from './settings.ts';

/**
 * How long all must be well before an alert ends. A value that swings around its threshold would otherwise send a message
 * with each swing.
 */
const KEEP_FOR_MS_DEFAULT = 60_000;

/** An operator who has not acted on a critical alert within the hour has missed it; a warning may wait for the shift. */
export const REPEAT_MS_DEFAULT: Readonly<Record<Level, number>> = {
  critical: 3_600_000,
  warning: 12 * 3_600_000,
};

export const REPEAT_MS_MIN = 60_000;

/** How long alerts of one rule are gathered into one message. One cause fires for many locks within moments. */
export const GROUP_MS_DEFAULT = 5_000;

/** What dead man's switches commonly expect. */
export const HEARTBEAT_MS_DEFAULT = 60_000;

export const FLEET_DEFAULT = 'default';

export const PAGERDUTY_URL = 'https://events.pagerduty.com/v2/enqueue';

export function defaultRule(rule: Rule): RuleSettings {
  const { warning, critical, forMs } = rule;
  return { isOff: false, warning, critical, forMs, keepForMs: KEEP_FOR_MS_DEFAULT, prefixes: [] };
}

export function defaultSettings(fleet: string = FLEET_DEFAULT): AlertSettings {
  return {
    fleet,
    groups: [],
    mutexes: [],
    memoryLimitBytes: null,
    stateUrl: null,
    rules: new Map(RULES.map((rule) => [rule.id, defaultRule(rule)])),
    receivers: [],
    heartbeat: null,
    repeatMs: REPEAT_MS_DEFAULT,
    groupMs: GROUP_MS_DEFAULT,
  };
}
