/** Reads the section `receivers`: who is told, how, and of what. */
import { LEVELS } from '../rules/rule.ts';
import { isRule, JUDGED_RULES } from '../rules/table.ts';
import { readAuthorities } from './authorities.ts';
import { PAGERDUTY_URL } from './defaults.ts';
import type { JsonFields, JsonValue } from './json-reader.ts';
import { readSecret, Secret, type SecretReader, type SecretSource } from './secret.ts';
import { RECEIVER_TYPES, type Receiver, type ReceiverType } from './settings.ts';

/** A receiver's name is part of a key in Redis and of log lines. */
export const RECEIVER_NAME = '^[A-Za-z0-9_-]{1,64}$';

const COMMON = ['type', 'levels', 'rules', 'resolved'] as const;

/** The fields of each type beside the common ones; those with `!` must be there. */
export const RECEIVER_FIELDS: Readonly<Record<ReceiverType, readonly string[]>> = {
  webhook: ['url!', 'headers', 'ca'],
  slack: ['url!', 'headers', 'ca'],
  teams: ['url!', 'headers', 'ca'],
  alertmanager: ['url!', 'headers', 'ca'],
  pagerduty: ['routingKey!', 'url', 'ca'],
  smtp: ['url!', 'password', 'from!', 'to!', 'ca'],
  command: ['argv!'],
  stdout: [],
};

/** What has another form may be the secret itself, in the wrong place. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const NO_ADDRESS = /^(?!.*:\/\/)/s;

const SECRET = 'text, {"env": "NAME"} or {"file": "/path"}';

export function readReceivers(section: JsonValue, reader: SecretReader): Receiver[] {
  const receivers: Receiver[] = [];
  for (const { name, value } of section.asProperties('an object of receivers') ?? []) {
    if (!new RegExp(RECEIVER_NAME).test(name))
      value.refuse('a name of 1 to 64 letters, digits, _ or -', 'another name');
    const receiver = readReceiver(name, value, reader);
    if (receiver !== null) receivers.push(receiver);
  }
  return receivers;
}

export function readSecretValue(value: JsonValue, reader: SecretReader): Secret | null {
  const source = readSource(value);
  if (source === null) return null;
  const secret = readSecret(source, reader);
  return typeof secret === 'string' ? value.refuse(secret, 'none') : secret;
}

/** A secret that must be a URL of one of these schemes. What it says is not repeated in the message. */
export function readUrl(value: JsonValue, reader: SecretReader, schemes: readonly string[]): Secret | null {
  const secret = readSecretValue(value, reader);
  if (secret === null) return null;
  const scheme = URL.canParse(secret.reveal()) ? new URL(secret.reveal()).protocol.slice(0, -1) : '';
  if (schemes.includes(scheme)) return secret;
  return value.refuse(
    `a URL that begins with ${schemes.map((one) => `${one}://`).join(' or ')}`,
    'another text',
  );
}

function readSource(value: JsonValue): SecretSource | null {
  if (value.isString) return { from: 'value', value: value.asString(SECRET) ?? '' };
  const fields = value.asFields(['env', 'file'], SECRET);
  if (fields === null) return null;
  const name = fields.get('env')?.asMatching(VARIABLE, 'the name of a variable');
  const path = fields.get('file')?.asMatching(NO_ADDRESS, 'the path of a file');
  if (typeof name === 'string' && path === undefined) return { from: 'env', name };
  if (typeof path === 'string' && name === undefined) return { from: 'file', path };
  return name === null || path === null ? null : value.refuse('either "env" or "file"');
}

function readReceiver(name: string, value: JsonValue, reader: SecretReader): Receiver | null {
  const type = value
    .asFields([...COMMON, ...allFields()])
    ?.require('type', `one of ${RECEIVER_TYPES.join(', ')}`)
    ?.asOneOf(RECEIVER_TYPES);
  if (type === null || type === undefined) return null;
  const own = RECEIVER_FIELDS[type];
  const fields = value.asFields([...COMMON, ...own.map((field) => field.replace('!', ''))]);
  if (fields === null) return null;
  const missing = own.filter((field) => field.endsWith('!') && fields.get(field.slice(0, -1)) === undefined);
  for (const field of missing) fields.require(field.slice(0, -1), `needed by a receiver of type ${type}`);
  return missing.length > 0 ? null : build(name, type, fields, reader);
}

function build(name: string, type: ReceiverType, fields: JsonFields, reader: SecretReader): Receiver | null {
  const common = readCommon(name, fields);
  const web = (value: JsonValue): Secret | null => readUrl(value, reader, ['https', 'http']);
  switch (type) {
    case 'stdout':
      return { ...common, type };
    case 'command': {
      const argv = readTexts(fields.get('argv'), 'a list: the program and its arguments');
      return argv === null ? null : { ...common, type, argv };
    }
    case 'pagerduty': {
      const routingKey = fields.read('routingKey', (value) => readSecretValue(value, reader), null);
      const url = fields.read('url', web, new Secret(PAGERDUTY_URL));
      const ca = readAuthorities(fields, url, reader);
      return routingKey === null ? null : { ...common, type, routingKey, url, ca };
    }
    case 'smtp': {
      const url = fields.read('url', (value) => readUrl(value, reader, ['smtp', 'smtps']), null);
      const password = fields.read('password', (value) => readSecretValue(value, reader), null);
      if (url !== null && !checkMailLogin(url, fields)) return null;
      const from = fields.get('from')?.asString('an address') ?? null;
      const to = readTexts(fields.get('to'), 'a list of addresses');
      if (url === null || from === null || to === null) return null;
      return { ...common, type, url, password, from, to, ca: readAuthorities(fields, url, reader) };
    }
    default: {
      const url = fields.read('url', web, null);
      const headers = Object.fromEntries(
        (fields.get('headers')?.asProperties('an object of headers') ?? []).flatMap(
          ({ name: header, value }) => {
            const secret = readSecretValue(value, reader);
            return secret === null || !checkHeader(header, secret, value) ? [] : [[header, secret]];
          },
        ),
      );
      return url === null
        ? null
        : { ...common, type, url, headers, ca: readAuthorities(fields, url, reader) };
    }
  }
}

/** A header that HTTP does not allow would fail every try to send. */
function checkHeader(name: string, secret: Secret, value: JsonValue): boolean {
  try {
    new Headers([[name, secret.reveal()]]);
    return true;
  } catch {
    value.refuse('a name and a value that HTTP allows in a header', 'another');
    return false;
  }
}

/** A login that cannot be read would fail every try to send, and a password without a user is never sent. */
function checkMailLogin(url: Secret, fields: JsonFields): boolean {
  const { username, password } = new URL(url.reveal());
  try {
    decodeURIComponent(username + password);
  } catch {
    fields.get('url')?.refuse('a % in a user or a password to be written as %25', 'one that stands alone');
    return false;
  }
  const given = fields.get('password');
  if (username !== '' || given === undefined) return true;
  given.refuse('a user in the URL with it, as smtp://user@host', 'none');
  return false;
}

function readCommon(name: string, fields: JsonFields) {
  const levels = fields.get('levels')?.asList('a list of levels');
  const chosen = levels?.flatMap((value) => value.asOneOf(LEVELS) ?? []);
  if (levels?.length === 0) refuseEmpty(fields.get('levels'), 'a list of levels');
  const rules = fields.get('rules')?.asList('a list of rules');
  if (rules?.length === 0) refuseEmpty(fields.get('rules'), 'a list of rules');
  const known = rules?.flatMap((value) => {
    const id = value.asString('the name of a rule');
    if (id === null || isRule(id)) return id ?? [];
    value.refuse(`the name of a rule: ${JUDGED_RULES.map((rule) => rule.id).join(', ')}`);
    return [];
  });
  return {
    name,
    levels: chosen ?? LEVELS,
    rules: known ?? null,
    isToldOfEnds: fields.read('resolved', (value) => value.asBoolean(), true),
  };
}

function readTexts(value: JsonValue | undefined, expected: string): string[] | null {
  const texts = value?.asList(expected)?.map((one) => one.asString('text'));
  if (texts === undefined || texts.includes(null)) return null;
  if (texts.length === 0) return refuseEmpty(value, expected);
  return texts.filter((text) => text !== null);
}

function refuseEmpty(value: JsonValue | undefined, expected: string): null {
  return value?.refuse(`${expected}, one at least`, 'an empty list') ?? null;
}

function allFields(): string[] {
  return Object.values(RECEIVER_FIELDS)
    .flat()
    .map((field) => field.replace('!', ''));
}
