/** Calls of all our scripts with arguments that are mostly right: read from the Lua, so that new ones are covered. */
import fc from 'fast-check';
import type { ScriptText } from 'holdfast';
import * as generated from '../../../holdfast/src/scripts/generated.ts';
import { HOLDERS, KEYS, LEASES_MS } from './vocabulary.ts';

export type Request = readonly string[];

export const SCRIPTS: readonly ScriptText[] = Object.values(generated).map(({ text }) => text);

const garbage = fc.constantFrom('', 'x', '-1', '1.5', '99999999999999999999', ' 1');
/** None gives a key a life of a few ms: whether the next command still sees it would be chance. */
const garbageMs = fc.constantFrom('', 'x', '-86400000', '60000.5', '99999999999999999999', ' 60000');

/** Chosen by the name of the argument in the script. */
function argument(name: string): fc.Arbitrary<string> {
  const right = (): fc.Arbitrary<string> => {
    if (name === 'not_after_ms') return fc.constantFrom('0', '0', '0', '1', '8000000000000');
    if (name === 'pattern') return fc.constantFrom('*', 'a*', '[ab]', 'nothing');
    if (name.endsWith('_ms')) return fc.constantFrom(...LEASES_MS);
    if (/holder|token|owner/.test(name)) return fc.constantFrom(...HOLDERS);
    if (/channel|message/.test(name)) return fc.constantFrom('channel:1', 'channel:2');
    if (/count|fences|permits/.test(name)) return fc.constantFrom('1', '2', '65');
    if (/^(wants|is|has)_/.test(name)) return fc.constantFrom('0', '1');
    return fc.constantFrom('1', '2', ...HOLDERS, ...LEASES_MS);
  };
  if (name === 'cursor') return fc.constant('0');
  return fc.oneof(
    { weight: 30, arbitrary: right() },
    { weight: 1, arbitrary: name.endsWith('_ms') ? garbageMs : garbage },
  );
}

function callOf({ sha }: ScriptText, keys: readonly string[], args: readonly string[]): Request {
  return ['EVALSHA', sha, String(keys.length), ...keys, ...args];
}

const key = fc.constantFrom(...KEYS);

/** For a script that does the same to each of many keys. */
function batch(script: ScriptText): fc.Arbitrary<Request> {
  const names = [...script.source.matchAll(/local (\w+) = (?:tonumber\()?ARGV\[\d \* i/g)].map(
    ([, name = '']) => name,
  );
  const item = fc.tuple(key, ...names.map(argument));
  return fc.array(item, { minLength: 1, maxLength: 4 }).map((items) =>
    callOf(
      script,
      items.map(([first]) => first),
      items.flatMap(([, ...args]) => args),
    ),
  );
}

function single(script: ScriptText): fc.Arbitrary<Request> {
  const { source } = script;
  const names = new Map(
    [...source.matchAll(/local (\w+) = (?:tonumber\()?ARGV\[(\d+)\]/g)].map(([, name = '', index]) => [
      Number(index),
      name,
    ]),
  );
  const countOf = (table: string): number =>
    Math.max(0, ...[...source.matchAll(new RegExp(`${table}\\[(\\d+)\\]`, 'g'))].map(([, n]) => Number(n)));
  const keys = fc.tuple(...Array.from({ length: countOf('KEYS') }, () => key));
  // A scan in small steps would give each server other cursors, so scripts that scan get everything in one step.
  const isScan = source.includes("'SCAN'");
  const args = Array.from({ length: countOf('ARGV') }, (_, i) => {
    const name = names.get(i + 1) ?? '';
    return isScan && name === 'count' ? fc.constant('1000') : argument(name);
  });
  return fc.tuple(keys, fc.tuple(...args)).map(([k, a]) => callOf(script, k, a));
}

/** Scripts that reply about the server and not about its keys. */
const ABOUT_THE_SERVER = new Set(['admin.health']);

export const scriptRequest: fc.Arbitrary<Request> = fc.oneof(
  ...SCRIPTS.filter(({ name }) => !ABOUT_THE_SERVER.has(name)).map((script) =>
    script.source.includes('#KEYS') ? batch(script) : single(script),
  ),
);
