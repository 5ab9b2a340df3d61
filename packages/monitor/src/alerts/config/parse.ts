/**
 * Reads a whole configuration: settings, or every mistake in it.
 *
 * In this folder: the configuration of the alerts: reading it, its schema, its defaults, and the settings that come
 * of it. Only `alerts/` imports from here.
 */
import { GROUPS_MAX } from '../../sampling/locks/groups.ts';
import { readAuthorities } from './authorities.ts';
import {
  defaultSettings,
  FLEET_DEFAULT,
  GROUP_MS_DEFAULT,
  HEARTBEAT_MS_DEFAULT,
  REPEAT_MS_DEFAULT,
  REPEAT_MS_MIN,
} from './defaults.ts';
import { type ConfigIssue, JsonReader, type JsonValue } from './json-reader.ts';
import { readReceivers, readSecretValue, readUrl } from './receiver-section.ts';
import { readDuration, readRules } from './rule-section.ts';
import { type SecretReader, systemSecrets } from './secret.ts';
import type { AlertSettings } from './settings.ts';
import { formatDuration, parseBytes } from './units.ts';

export const FIELDS = [
  '$schema',
  'fleet',
  'groups',
  'mutexes',
  'memoryLimit',
  'state',
  'rules',
  'receivers',
  'heartbeat',
  'repeat',
  'groupFor',
] as const;

/** Part of keys in Redis, of labels and of subjects. */
export const FLEET_NAME = '^[A-Za-z0-9._-]{1,64}$';

export type ParsedConfig =
  | { readonly isGood: true; readonly settings: AlertSettings }
  | { readonly isGood: false; readonly issues: readonly ConfigIssue[] };

/** `fleet` is the name of a fleet whose configuration gives none. */
export function parseConfig(
  text: string,
  fleet: string = FLEET_DEFAULT,
  secrets: SecretReader = systemSecrets,
): ParsedConfig {
  const reader = new JsonReader(text);
  const root = reader.root();
  const settings = root === null ? null : readSettings(root, fleet, secrets);
  if (settings !== null && reader.issues.length === 0) return { isGood: true, settings };
  const issues = [...reader.issues].sort((one, other) => one.line - other.line || one.column - other.column);
  return { isGood: false, issues: issues.filter((issue, at) => !isSame(issue, issues[at - 1])) };
}

function isSame(one: ConfigIssue, other: ConfigIssue | undefined): boolean {
  return (
    other !== undefined && one.line === other.line && one.column === other.column && one.path === other.path
  );
}

function readSettings(root: JsonValue, fleetDefault: string, secrets: SecretReader): AlertSettings | null {
  const fields = root.asFields(FIELDS);
  if (fields === null) return null;
  fields.get('$schema')?.asString('the address of the schema');
  const fleet = fields.read('fleet', readFleet, fleetDefault);
  const defaults = defaultSettings(fleet);
  const rules = fields.get('rules');
  const receivers = fields.get('receivers');
  const state = fields.get('state')?.asFields(['redis']);
  return {
    fleet,
    groups: fields.read('groups', readGroups, []),
    mutexes: fields.read('mutexes', readPatterns, []),
    memoryLimitBytes: fields.read(
      'memoryLimit',
      (value) => value.asParsed(parseBytes, 'a size such as "2GB"'),
      null,
    ),
    stateUrl: state?.read('redis', (value) => readUrl(value, secrets, ['redis', 'rediss']), null) ?? null,
    rules: new Map([...defaults.rules, ...(rules === undefined ? [] : readRules(rules))]),
    receivers: receivers === undefined ? [] : readReceivers(receivers, secrets),
    heartbeat: fields.read('heartbeat', (value) => readHeartbeat(value, secrets), null),
    repeatMs: fields.read('repeat', readRepeat, REPEAT_MS_DEFAULT),
    groupMs: fields.read('groupFor', readDuration, GROUP_MS_DEFAULT),
  };
}

function readFleet(value: JsonValue): string | null {
  const fleet = value.asString('a name of 1 to 64 letters, digits, ., _ or -');
  if (fleet === null || new RegExp(FLEET_NAME).test(fleet)) return fleet;
  return value.refuse('a name of 1 to 64 letters, digits, ., _ or -');
}

function readPatterns(value: JsonValue): string[] | null {
  return value.asList('a list of patterns')?.flatMap((one) => one.asString('a pattern') ?? []) ?? null;
}

function readGroups(value: JsonValue): string[] | null {
  const patterns = readPatterns(value);
  if (patterns === null) return null;
  const isGood = patterns.length <= GROUPS_MAX && patterns.every((pattern) => pattern !== '');
  return isGood ? patterns : value.refuse(`at most ${GROUPS_MAX} patterns, none of them empty`);
}

function readHeartbeat(value: JsonValue, secrets: SecretReader): AlertSettings['heartbeat'] {
  const fields = value.asFields(['url', 'every', 'ca']);
  const url = fields?.require('url', 'where the heartbeat goes');
  const secret = url === null || url === undefined ? null : readSecretValue(url, secrets);
  if (fields === null || url === null || url === undefined || secret === null) return null;
  const checked = readUrl(url, secrets, ['https', 'http']);
  const everyMs = fields.read('every', readDuration, HEARTBEAT_MS_DEFAULT);
  if (everyMs < 1_000) fields.get('every')?.refuse('at least "1s"');
  if (checked === null) return null;
  return { url: checked, ca: readAuthorities(fields, checked, secrets), everyMs };
}

function readRepeat(value: JsonValue): AlertSettings['repeatMs'] | null {
  const fields = value.asFields(['warning', 'critical']);
  if (fields === null) return null;
  return {
    warning: fields.read('warning', readRepeatMs, REPEAT_MS_DEFAULT.warning),
    critical: fields.read('critical', readRepeatMs, REPEAT_MS_DEFAULT.critical),
  };
}

/** More often it would be sent with every look at the servers, and nothing else would get through to the receiver. */
function readRepeatMs(value: JsonValue): number | null {
  const ms = readDuration(value);
  return ms === null || ms >= REPEAT_MS_MIN
    ? ms
    : value.refuse(`at least "${formatDuration(REPEAT_MS_MIN)}"`);
}
