/** A loaded script: its hash, its Lua code, and the flags of its first line. */
import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { CommandError } from '../protocol/command-error.ts';

export interface LoadedScript {
  readonly sha: string;
  /** The Lua code without the `#!` line. The line break stays, so that errors name the right line. */
  readonly body: string;
  readonly mayWrite: boolean;
}

/** The flags of Redis. Only `no-writes` has an effect: the node has no memory limit, no replica and no cluster. */
const FLAGS = new Set(['no-writes', 'allow-oom', 'allow-stale', 'no-cluster', 'allow-cross-slot-keys']);

export function sha1(bytes: string): string {
  return createHash('sha1').update(Buffer.from(bytes, 'latin1')).digest('hex');
}

export function readScript(source: string, sha: string): LoadedScript {
  if (!source.startsWith('#!')) return { sha, body: source, mayWrite: true };
  const end = source.indexOf('\n');
  if (end < 0) throw new CommandError('ERR Invalid script shebang');
  const [engine, ...options] = source.slice(0, end).split(' ');
  if (engine !== '#!lua') throw new CommandError(`ERR Unexpected engine in script shebang: ${engine}`);
  const flags = options.filter((option) => option !== '').flatMap(flagsOf);
  return { sha, body: source.slice(end), mayWrite: !flags.includes('no-writes') };
}

function flagsOf(option: string): string[] {
  if (!option.startsWith('flags=')) throw new CommandError(`ERR Unknown lua shebang option: ${option}`);
  const flags = option.slice('flags='.length).split(',');
  const unknown = flags.find((flag) => flag !== '' && !FLAGS.has(flag));
  if (unknown !== undefined) throw new CommandError(`ERR Unexpected flag in script shebang: ${unknown}`);
  return flags;
}
