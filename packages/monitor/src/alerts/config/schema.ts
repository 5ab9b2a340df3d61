/**
 * The JSON schema of the configuration, made from the same tables as the reader. It is published as
 * `packages/monitor/schemas/monitor.schema.json`, for editors; a test compares the two and lets both judge the same files.
 */
import { GROUPS_MAX } from '../../sampling/locks/groups.ts';
import { LEVELS, type Rule } from '../rules/rule.ts';
import { JUDGED_RULES } from '../rules/table.ts';
import { FLEET_NAME } from './parse.ts';
import { RECEIVER_FIELDS, RECEIVER_NAME } from './receiver-section.ts';
import { COUNT_MAX, ruleFields, thresholdFields } from './rule-section.ts';
import { RECEIVER_TYPES, type ReceiverType } from './settings.ts';
import { BYTES_PATTERN, DURATION_PATTERN, formatDuration, formatShare, SHARE_PATTERN } from './units.ts';

type Schema = Readonly<Record<string, unknown>>;

const DURATION: Schema = { $ref: '#/definitions/duration' };
const SECRET: Schema = { $ref: '#/definitions/secret' };
const TEXTS: Schema = { type: 'array', items: { type: 'string' } };
const SOME_TEXTS: Schema = { ...TEXTS, minItems: 1 };
const PATH: Schema = { type: 'string', minLength: 1 };
const FLAG: Schema = { type: 'boolean' };

export function configSchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'The configuration of holdfast monitor',
    ...closed({
      $schema: { type: 'string' },
      fleet: { type: 'string', pattern: FLEET_NAME },
      groups: { type: 'array', items: { type: 'string', minLength: 1 }, maxItems: GROUPS_MAX },
      mutexes: TEXTS,
      memoryLimit: { type: 'string', pattern: BYTES_PATTERN },
      state: closed({ redis: SECRET }),
      rules: closed(Object.fromEntries(JUDGED_RULES.map((rule) => [rule.id, ruleSchema(rule)]))),
      receivers: {
        type: 'object',
        propertyNames: { pattern: RECEIVER_NAME },
        additionalProperties: {
          type: 'object',
          required: ['type'],
          oneOf: RECEIVER_TYPES.map(receiverSchema),
        },
      },
      heartbeat: { ...closed({ url: SECRET, every: DURATION, ca: PATH }), required: ['url'] },
      repeat: closed({ warning: DURATION, critical: DURATION }),
      groupFor: DURATION,
    }),
    definitions: {
      duration: { type: 'string', pattern: DURATION_PATTERN },
      secret: {
        oneOf: [
          { type: 'string', minLength: 1 },
          { ...closed({ env: { type: 'string' } }), required: ['env'] },
          { ...closed({ file: { type: 'string' } }), required: ['file'] },
        ],
      },
    },
  };
}

function closed(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', properties, additionalProperties: false };
}

function ruleSchema(rule: Rule): Schema {
  const prefixes: Schema = {
    type: 'object',
    additionalProperties: closed(pick(thresholdFields(rule), rule)),
  };
  const own = pick(
    ruleFields(rule).filter((field) => field !== 'prefixes'),
    rule,
  );
  return {
    description: `${rule.title}. ${rule.why}`,
    ...closed(rule.about === 'lock' ? { ...own, prefixes } : own),
  };
}

function pick(fields: readonly string[], rule: Rule): Record<string, Schema> {
  const schemas: Readonly<Record<string, Schema>> = {
    off: FLAG,
    for: { ...DURATION },
    keepFor: DURATION,
    above: thresholdSchema(rule, rule.warning ?? rule.critical),
    criticalAbove: thresholdSchema(rule, rule.critical),
  };
  return Object.fromEntries(fields.map((field) => [field, schemas[field] ?? {}]));
}

function thresholdSchema({ measure, compare }: Rule, standard: number | null): Schema {
  if (measure === 'duration')
    return { type: 'string', pattern: DURATION_PATTERN, default: formatDuration(standard ?? 0) };
  if (measure === 'share')
    return { type: 'string', pattern: SHARE_PATTERN, default: formatShare(standard ?? 0) };
  return { type: 'integer', minimum: compare === 'at-least' ? 1 : 0, maximum: COUNT_MAX, default: standard };
}

const RECEIVER_SCHEMAS: Readonly<Record<string, Schema>> = {
  url: SECRET,
  headers: { type: 'object', additionalProperties: SECRET },
  routingKey: SECRET,
  password: SECRET,
  from: { type: 'string' },
  to: SOME_TEXTS,
  argv: SOME_TEXTS,
  ca: PATH,
};

function receiverSchema(type: ReceiverType): Schema {
  const own = RECEIVER_FIELDS[type];
  const names = own.map((field) => field.replace('!', ''));
  const required = own.filter((field) => field.endsWith('!')).map((field) => field.slice(0, -1));
  return {
    ...closed({
      type: { const: type },
      levels: { type: 'array', items: { enum: LEVELS }, minItems: 1 },
      rules: { type: 'array', items: { enum: JUDGED_RULES.map(({ id }) => id) }, minItems: 1 },
      resolved: FLAG,
      ...Object.fromEntries(names.map((name) => [name, RECEIVER_SCHEMAS[name] ?? {}])),
    }),
    required: ['type', ...required],
  };
}
