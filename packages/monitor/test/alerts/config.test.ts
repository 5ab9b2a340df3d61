/** The configuration: what it means, and what is said of a mistake in it. The published schema judges the same files. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { inspect } from 'node:util';
import { Ajv } from 'ajv';
import { parse } from 'jsonc-parser';
import { describe, expect, test } from 'vitest';
import { formatIssue } from '../../src/alerts/config/json-reader.ts';
import { parseConfig } from '../../src/alerts/config/parse.ts';
import { configSchema } from '../../src/alerts/config/schema.ts';
import type { SecretReader } from '../../src/alerts/config/secret.ts';
import { type AlertSettings, secretsOf } from '../../src/alerts/config/settings.ts';
import { formatDuration, parseBytes, parseDurationMs, parseShare } from '../../src/alerts/config/units.ts';
import { JUDGED_RULES } from '../../src/alerts/rules/table.ts';

const SCHEMA = resolve(import.meta.dirname, '../../schemas/monitor.schema.json');

const SECRETS: SecretReader = {
  env: (name) => (name === 'SLACK_URL' ? 'https://hooks.example.test/T0/very-secret' : undefined),
  file: (path) => {
    if (path === '/run/secrets/beat') return 'https://beat.example.test/abc\n';
    throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
  },
};

const FULL = `{
  // The fleet is part of every key.
  "$schema": "https://example.test/monitor.schema.json",
  "fleet": "shop",
  "groups": ["order:*"],
  "mutexes": ["cache:*"],
  "memoryLimit": "2GB",
  "state": { "redis": "redis://127.0.0.1:6379" },
  "rules": {
    "lock-held-long": {
      "above": "10m", "for": "0s",
      "prefixes": { "cron:": { "above": "2h" }, "cron:night:": { "above": "6h" }, "tmp:": { "off": true } },
    },
    "memory-high": { "above": "70%", "criticalAbove": "90%", "keepFor": "5m" },
    "line-long": { "above": 50 },
    "redis-unreachable": { "for": "2s" },
    "restarted": { "off": true },
  },
  "receivers": {
    "ops": { "type": "slack", "url": { "env": "SLACK_URL" }, "levels": ["critical"] },
    "hook": { "type": "webhook", "url": "http://127.0.0.1:1/x", "headers": { "Authorization": "Bearer abcdef" } },
    "teams": { "type": "teams", "url": "https://teams.example.test/x" },
    "pager": { "type": "pagerduty", "routingKey": "r0utingkey", "rules": ["redis-unreachable"] },
    "am": { "type": "alertmanager", "url": "http://127.0.0.1:9093" },
    "mail": { "type": "smtp", "url": "smtp://ops@mail.example.test", "password": "pa55word", "from": "a@example.test", "to": ["b@example.test"] },
    "script": { "type": "command", "argv": ["/usr/local/bin/notify", "--now"], "resolved": false },
    "log": { "type": "stdout" },
  },
  "heartbeat": { "url": { "file": "/run/secrets/beat" }, "every": "30s" },
  "repeat": { "critical": "30m" },
  "groupFor": "2s",
}`;

function good(text: string): AlertSettings {
  const parsed = parseConfig(text, 'default', SECRETS);
  if (!parsed.isGood) throw new Error(parsed.issues.map(formatIssue).join('\n'));
  return parsed.settings;
}

function issues(text: string): string[] {
  const parsed = parseConfig(text, 'default', SECRETS);
  return parsed.isGood ? [] : parsed.issues.map(formatIssue);
}

describe('a good file', () => {
  test('an empty object has the defaults of every rule', () => {
    const settings = good('{}');
    expect([...settings.rules.keys()]).toEqual(expect.arrayContaining(JUDGED_RULES.map(({ id }) => id)));
    expect(settings.rules.get('wait-long')).toMatchObject({
      warning: 60_000,
      critical: 300_000,
      forMs: 10_000,
    });
    expect(settings.fleet).toBe('default');
  });

  test('thresholds, prefixes and receivers are read', () => {
    const settings = good(FULL);
    expect(settings.rules.get('lock-held-long')?.prefixes.map(({ prefix }) => prefix)).toEqual([
      'cron:night:',
      'cron:',
      'tmp:',
    ]);
    expect(settings.rules.get('memory-high')).toMatchObject({
      warning: 0.7,
      critical: 0.9,
      keepForMs: 300_000,
    });
    expect(settings.rules.get('redis-unreachable')).toMatchObject({
      warning: null,
      critical: 1,
      forMs: 2_000,
    });
    expect(settings.rules.get('restarted')?.isOff).toBe(true);
    expect(settings.receivers.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'ops slack',
      'hook webhook',
      'teams teams',
      'pager pagerduty',
      'am alertmanager',
      'mail smtp',
      'script command',
      'log stdout',
    ]);
    expect(settings.repeatMs).toEqual({ critical: 1_800_000, warning: 43_200_000 });
    expect(settings.memoryLimitBytes).toBe(2 * 1_024 ** 3);
    expect(settings.heartbeat?.url.reveal()).toBe('https://beat.example.test/abc');
  });

  test('no secret is in anything that is logged', () => {
    const settings = good(FULL);
    const logged = `${inspect(settings, { depth: null })}${JSON.stringify(settings)}${settings.receivers.join()}`;
    const values = secretsOf(settings).map((secret) => secret.reveal());
    expect(values.length).toBeGreaterThan(8);
    for (const value of values) expect(logged).not.toContain(value);
  });
});

/** Each mistake, and what is said of it. */
const MISTAKES: readonly (readonly [title: string, text: string, said: RegExp])[] = [
  [
    'an unknown field',
    '{\n  "fleat": "shop"\n}',
    /^line 2, column 3: fleat: expected one of .*fleet.*, found "fleat"/,
  ],
  [
    'an unknown rule',
    '{ "rules": { "memory": {} } }',
    /rules\.memory: expected the name of a rule: .*memory-high/,
  ],
  ['a rule only for Prometheus', '{ "rules": { "monitor-absent": {} } }', /expected the name of a rule/],
  [
    'a number for a duration',
    '{"rules":{"wait-long":{"above":60}}}',
    /expected a duration such as "90s" or "10m", found 60/,
  ],
  [
    'a share above all',
    '{"rules":{"memory-high":{"above":"180%"}}}',
    /expected a percentage such as "80%", found "180%"/,
  ],
  [
    'a threshold of a condition',
    '{"rules":{"restarted":{"above":"1m"}}}',
    /expected one of off, for, keepFor, found "above"/,
  ],
  [
    'prefixes of a rule about servers',
    '{"rules":{"cpu-high":{"prefixes":{}}}}',
    /expected one of off, above, criticalAbove, for, keepFor/,
  ],
  [
    'levels the wrong way round',
    '{"rules":{"wait-long":{"above":"9m"}}}',
    /expected a critical threshold that is not below the warning one/,
  ],
  [
    'a receiver without a type',
    '{"receivers":{"a":{"url":"http://x.test"}}}',
    /receivers\.a: expected a field "type": one of webhook/,
  ],
  [
    'an empty group',
    '{"groups":["order:*",""]}',
    /groups: expected at most 100 patterns, none of them empty/,
  ],
  ['an unknown type', '{"receivers":{"a":{"type":"fax"}}}', /expected one of webhook, slack, .* found "fax"/],
  [
    'a missing URL',
    '{"receivers":{"a":{"type":"slack"}}}',
    /expected a field "url": needed by a receiver of type slack/,
  ],
  [
    'a field of another type',
    '{"receivers":{"a":{"type":"stdout","argv":["x"]}}}',
    /expected one of type, levels, rules, resolved, found "argv"/,
  ],
  [
    'a variable that is not set',
    '{"receivers":{"a":{"type":"slack","url":{"env":"NOPE"}}}}',
    /expected the variable NOPE to be set, and it is not/,
  ],
  [
    'a file that is not there',
    '{"heartbeat":{"url":{"file":"/nope"}}}',
    /expected a file \/nope that can be read \(ENOENT\)/,
  ],
  [
    'a wrong level',
    '{"receivers":{"a":{"type":"stdout","levels":["info"]}}}',
    /expected one of warning, critical, found "info"/,
  ],
  [
    'a wrong scheme',
    '{"receivers":{"a":{"type":"slack","url":"ftp://secret.test/x"}}}',
    /expected a URL that begins with https:\/\/ or http:\/\/, found another text/,
  ],
  ['a bad name', '{"receivers":{"a b":{"type":"stdout"}}}', /expected a name of 1 to 64 letters/],
  ['a bad fleet', '{"fleet":"a{b}"}', /expected a name of 1 to 64 letters/],
  ['no JSON', '{\n  "fleet": "shop",,\n}', /^line 2, column 19: expected valid JSON/],
  ['an empty file', '', /expected valid JSON \(value expected\), found nothing/],
  ['a list', '[]', /expected an object, found a list/],
  ['a name twice', '{"fleet":"a","fleet":"b"}', /expected each name once, found "fleet" a second time/],
  ['an empty list', '{"receivers":{"a":{"type":"command","argv":[]}}}', /one at least, found an empty list/],
  ['both kinds of secret', '{"heartbeat":{"url":{"env":"A","file":"b"}}}', /expected either "env" or "file"/],
];

describe('a mistake is reported with its line, what was expected and what was found', () => {
  test.each(MISTAKES)('%s', (_title, text, said) => {
    expect(issues(text).join('\n')).toMatch(said);
  });

  test('all mistakes are reported, in the order of the file', () => {
    const said = issues('{\n"rules": {\n"nope": {},\n"wait-long": { "for": 3 }\n},\n"x": 1\n}');
    expect(said.map((line) => line.split(',')[0])).toEqual(['line 3', 'line 4', 'line 6']);
  });

  test('a wrong URL is not repeated', () => {
    expect(issues('{"receivers":{"a":{"type":"slack","url":"ftp://secret.test/x"}}}').join()).not.toContain(
      'secret.test',
    );
  });
});

describe('the published schema', () => {
  const schema: unknown = JSON.parse(readFileSync(SCHEMA, 'utf8'));
  const validate = new Ajv({ allErrors: true, strict: false }).compile(schema as object);

  test('is the one that the code makes', () => {
    expect(schema, 'run `npm run monitor:schema`').toEqual(JSON.parse(JSON.stringify(configSchema())));
  });

  test('takes a good file', () => {
    const isGood = validate(parse(FULL, [], { allowTrailingComma: true }));
    expect(validate.errors ?? []).toEqual([]);
    expect(isGood).toBe(true);
  });

  /** What no schema can say: another field, the environment, the order of two numbers, a name twice. */
  const BEYOND = new Set([
    'levels the wrong way round',
    'a variable that is not set',
    'a file that is not there',
    'a wrong scheme',
    'a name twice',
    'no JSON',
    'an empty file',
  ]);

  test.each(MISTAKES.filter(([title]) => !BEYOND.has(title)))('refuses %s', (_title, text) => {
    expect(validate(parse(text))).toBe(false);
  });
});

describe('units', () => {
  test('durations, shares and sizes are read', () => {
    expect(['250ms', '90s', '1.5m', '2h', '1d'].map(parseDurationMs)).toEqual([
      250, 90_000, 90_000, 7_200_000, 86_400_000,
    ]);
    expect(['10', '1w', '-1s', '', '400d'].map(parseDurationMs)).toEqual([null, null, null, null, null]);
    expect(['80%', '99.5%', '100%', '101%', '0.8'].map(parseShare)).toEqual([0.8, 0.995, 1, null, null]);
    expect(['512MB', '2GB', '2'].map(parseBytes)).toEqual([512 * 1_024 ** 2, 2 * 1_024 ** 3, null]);
  });

  test('a duration that is printed is read back', () => {
    for (const ms of [0, 250, 1_000, 90_000, 600_000, 7_200_000, 86_400_000])
      expect(parseDurationMs(formatDuration(ms))).toBe(ms);
  });
});
