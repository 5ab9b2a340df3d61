/** Scripts for the suite to run. */
import { createHash } from 'node:crypto';
import type { ScriptCall, ScriptText } from '../../src/clients/client.ts';

function scriptText(name: string, source: string): ScriptText {
  return { name, source, sha: createHash('sha1').update(source).digest('hex') };
}

/** Puts its argument at the end of a list that lives no longer than the test. */
export const APPEND: ScriptText = scriptText(
  'append',
  `redis.call('RPUSH', KEYS[1], ARGV[1]) redis.call('PEXPIRE', KEYS[1], 60000) return 1`,
);

const ECHO: ScriptText = scriptText('echo', 'return ARGV[1]');

export function append(value: string, key = 'list'): ScriptCall {
  return { script: APPEND, keys: [key], args: [value] };
}

export function echo(value: string): ScriptCall {
  return { script: ECHO, keys: [], args: [value] };
}

/** A script of its own that returns what the Lua expression says. */
export function returning(expression: string): ScriptCall {
  return { script: scriptText('returning', `return ${expression}`), keys: [], args: [] };
}
