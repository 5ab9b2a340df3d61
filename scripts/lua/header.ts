import { OUTCOMES, type OutcomeName } from '../../packages/holdfast/src/scripts/outcome.ts';
import { type Complaint, LuaComplaint } from './complaint.ts';

export interface Key {
  readonly name: string;
  readonly meaning: string;
}

export interface Argument {
  readonly name: string;
  /** `digits` is an integer that the script only passes on: it stays text, which Redis reads faster. */
  readonly type: 'integer' | 'digits' | 'string';
  readonly meaning: string;
}

export interface PayloadItem {
  readonly name: string;
  /** `strings` takes the rest of the reply, so it comes last. */
  readonly type: 'integer' | 'string' | 'strings';
}

export interface Outcome {
  readonly name: OutcomeName;
  readonly payload: readonly PayloadItem[];
  readonly line: number;
}

/** An outcome that is answered as one integer alone, because clients read that several times faster than a list. */
export interface Bare {
  readonly outcome: OutcomeName;
  /** The payload item that the integer stands for. The other items are then absent. */
  readonly item: string;
  readonly line: number;
}

/** The header of a script. The TypeScript types are generated from it, so every word is checked. */
export interface Header {
  readonly shebang: string;
  readonly flags: readonly string[];
  readonly sentence: string;
  /** One outcome for each element, instead of one reply. An element's keys follow each other in KEYS. */
  readonly isBatch: boolean;
  readonly keys: readonly Key[];
  /** Keys that the script makes itself, from one of `keys` and in its slot. They are never vital: see rules/keys.ts. */
  readonly besides: readonly Key[];
  readonly args: readonly Argument[];
  /** In a batch an outcome has no payload, or is answered as one string: its name, a space and the payload. */
  readonly outcomes: readonly Outcome[];
  readonly bare: Bare | undefined;
  /** Whether many calls of the script may be sent as one. */
  readonly canBundle: boolean;
  readonly includes: readonly string[];
  /** How many lines the header takes; the body begins on the next one. */
  readonly lines: number;
}

const FLAGS = ['allow-cross-slot-keys', 'allow-oom', 'allow-stale', 'no-cluster', 'no-writes'];
const NAME = /^[a-z][a-z0-9_]*$/;

/** Reads the comment block on top of a script. Throws at the first line that is wrong. */
export function readHeader(file: string, text: string): Header {
  const lines = text.split('\n');
  const refuse = (line: number, expected: string, found: string): never => {
    throw new LuaComplaint({ file, line, expected, found });
  };
  const shebang = lines[0] ?? '';
  const sentence = /^--- ([A-Z].*\.)$/.exec(lines[1] ?? '')?.[1];
  const flags = readFlags(file, shebang);
  if (sentence === undefined) {
    return refuse(2, 'a sentence after `---` that says what the script does', `\`${lines[1] ?? ''}\``);
  }

  const keys: Key[] = [];
  const besides: Key[] = [];
  const args: Argument[] = [];
  const outcomes: Outcome[] = [];
  const includes: string[] = [];
  const forms = new Set<'one' | 'each'>();
  let bare: Bare | undefined;
  let hasRepeat = false;
  let canBundle = false;
  let count = 2;
  for (; lines[count]?.startsWith('--'); count++) {
    const tag = /^-- @(each )?([a-z]+) ?(.*)$/.exec(lines[count] ?? '');
    if (tag === null) continue;
    const at = { file, line: count + 1 };
    const [, each, word = '', rest = ''] = tag;
    if (['key', 'beside', 'arg', 'outcome'].includes(word) || (each && word === 'bare'))
      forms.add(each ? 'each' : 'one');
    else if (each)
      refuse(at.line, '@each key, @each beside, @each arg, @each outcome or @each bare', `@each ${word}`);
    if (word === 'key') keys.push(readKey(at, rest));
    else if (word === 'beside') besides.push(readKey(at, rest));
    else if (word === 'arg') args.push(readArgument(at, rest));
    else if (word === 'outcome' && each)
      outcomes.push(...rest.split(/ +/).map((name) => readOutcome(at, name)));
    else if (word === 'outcome') outcomes.push(readOutcome(at, rest));
    else if (word === 'bare' && each) outcomes.push(readEachBare(at, rest));
    else if (word === 'bare' && bare === undefined) bare = readBare(at, rest, outcomes);
    else if (word === 'bundle' && rest === '') canBundle = true;
    else if (word === 'include') includes.push(rest);
    else if (word === 'repeat' && /^harmless: \S/.test(rest)) hasRepeat = true;
    else if (word === 'repeat') refuse(at.line, '`@repeat harmless: ` and why', `\`@repeat ${rest}\``);
    else
      refuse(at.line, '@key, @beside, @arg, @outcome, one @bare, @bundle, @repeat or @include', `@${word}`);
  }

  if (!hasRepeat) refuse(count, 'a line `-- @repeat harmless: ` and why', 'none in the header');
  if (outcomes.length === 0) refuse(count, 'at least one @outcome', 'none in the header');
  if (forms.size > 1) refuse(count, 'only @each lines in a batch script', 'lines with and without @each');
  const isBatch = forms.has('each');
  if (isBatch && canBundle) refuse(count, 'no @bundle in a batch script', '@bundle');
  if (isBatch && outcomes.filter(({ payload }) => payload.length > 0).length > 1)
    refuse(count, 'one @each bare at most', 'several');
  if (isBatch && keys.length === 0) refuse(count, 'at least one `@each key`', 'none');
  const names = [...keys, ...besides, ...args].map(({ name }) => name);
  for (const list of [names, outcomes.map(({ name }) => name), includes]) {
    const twice = list.find((name, i) => list.indexOf(name) !== i);
    if (twice !== undefined) refuse(count, 'each name once in the header', `${twice} twice`);
  }
  const given = { keys, besides, args, outcomes, bare };
  return { shebang, flags, sentence, isBatch, ...given, canBundle, includes, lines: count };
}

type Place = Pick<Complaint, 'file' | 'line'>;

function readFlags(file: string, shebang: string): string[] {
  const match = /^#!lua(?: flags=([a-z,-]+))?$/.exec(shebang);
  if (match === null) {
    throw new LuaComplaint({
      file,
      line: 1,
      expected: '`#!lua`, with or without flags',
      found: `\`${shebang}\``,
    });
  }
  const flags = match[1]?.split(',') ?? [];
  const unknown = flags.find((flag) => !FLAGS.includes(flag));
  if (unknown !== undefined) {
    throw new LuaComplaint({ file, line: 1, expected: `flags among ${FLAGS.join(', ')}`, found: unknown });
  }
  return flags;
}

function readKey(at: Place, rest: string): Key {
  const [, name = '', meaning = ''] = /^(\S+) (\S.*)$/.exec(rest) ?? [];
  if (!NAME.test(name)) {
    throw new LuaComplaint({
      ...at,
      expected: '`@key name meaning`, name in snake_case',
      found: `\`${rest}\``,
    });
  }
  return { name, meaning };
}

function readArgument(at: Place, rest: string): Argument {
  const [, name = '', type, more = ''] =
    /^(\S+) (integer|digits|string)(?:(?:, |: )(\S.*))?$/.exec(rest) ?? [];
  if (!NAME.test(name)) {
    const expected = '`@arg name type, unit: meaning`, type integer, digits or string';
    throw new LuaComplaint({ ...at, expected, found: `\`${rest}\`` });
  }
  return { name, type: type === 'integer' || type === 'digits' ? type : 'string', meaning: more };
}

function readBare(at: Place, rest: string, outcomes: readonly Outcome[]): Bare {
  const [name, item = '', ...more] = rest.split(/ +/);
  const outcome = outcomes.find((candidate) => candidate.name === name);
  const isInteger = outcome?.payload.some(
    (candidate) => candidate.name === item && candidate.type === 'integer',
  );
  if (outcome === undefined || !isInteger || more.length > 0) {
    const expected = '`@bare OUTCOME item` below that outcome, with an integer of its payload';
    throw new LuaComplaint({ ...at, expected, found: `\`${rest}\`` });
  }
  return { outcome: outcome.name, item, line: at.line };
}

/** An outcome of a batch with a payload, answered as one string: an element has one place in the reply. */
function readEachBare(at: Place, rest: string): Outcome {
  const [name = '', item = '', ...more] = rest.split(/ +/);
  if (more.length > 0 || !NAME.test(item) || item === 'is') {
    const expected = '`@each bare OUTCOME item`, for the text behind the name of that outcome';
    throw new LuaComplaint({ ...at, expected, found: `\`${rest}\`` });
  }
  return readOutcome(at, `${name} ${item}:string`);
}

function readOutcome(at: Place, rest: string): Outcome {
  const [name = '', ...items] = rest.split(/ +/);
  if (!isOutcomeName(name)) {
    throw new LuaComplaint({
      ...at,
      expected: 'an outcome of the table in outcome.ts',
      found: `\`${name}\``,
    });
  }
  const payload = items.map((item): PayloadItem => {
    const [, field = '', type] = /^([^:]+):(integer|string|strings)$/.exec(item) ?? [];
    // A decoded outcome carries its own name under `is`.
    if (!NAME.test(field) || field === 'is') {
      const expected = 'payload as `name:integer`, `name:string` or `name:strings`';
      throw new LuaComplaint({ ...at, expected, found: `\`${item}\`` });
    }
    return { name: field, type: type as PayloadItem['type'] };
  });
  if (payload.slice(0, -1).some(({ type }) => type === 'strings')) {
    throw new LuaComplaint({ ...at, expected: '`strings` as the last of a payload', found: `\`${rest}\`` });
  }
  return { name, payload, line: at.line };
}

function isOutcomeName(name: string): name is OutcomeName {
  return Object.hasOwn(OUTCOMES, name);
}
