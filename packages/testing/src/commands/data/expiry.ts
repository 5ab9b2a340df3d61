/** Commands on the expiry of keys. */

import { CommandError } from '../../protocol/command-error.ts';
import { bigIntegerOf } from '../../protocol/number-text.ts';
import { ANY, at, type Command, type CommandContext, reads, writes } from '../command.ts';
import { timeOf } from './expiry-time.ts';

const FOREVER = -1;
const NO_KEY = -2;
const CONDITIONS = new Set(['NX', 'XX', 'GT', 'LT']);

function readConditions(args: readonly string[]): Set<string> {
  const conditions = new Set(args.slice(2).map((arg) => arg.toUpperCase()));
  for (const arg of args.slice(2)) {
    if (!CONDITIONS.has(arg.toUpperCase())) throw new CommandError(`ERR Unsupported option ${arg}`);
  }
  if (conditions.has('NX') && conditions.size > 1)
    throw new CommandError('ERR NX and XX, GT or LT options at the same time are not compatible');
  if (conditions.has('GT') && conditions.has('LT'))
    throw new CommandError('ERR GT and LT options at the same time are not compatible');
  return conditions;
}

/** For GT and LT a key without an expiry counts as one that expires after every time. */
function isAllowed(conditions: ReadonlySet<string>, beforeMs: number | null, whenMs: number): boolean {
  if (conditions.has('NX') && beforeMs !== null) return false;
  if (conditions.has('XX') && beforeMs === null) return false;
  if (conditions.has('GT') && (beforeMs === null || whenMs <= beforeMs)) return false;
  return !(conditions.has('LT') && beforeMs !== null && whenMs >= beforeMs);
}

function expires(name: string, unit: 'EX' | 'PX' | 'EXAT' | 'PXAT'): Command {
  return writes(name, 2, ANY, ({ keys, node }, args) => {
    const conditions = readConditions(args);
    const whenMs = timeOf(bigIntegerOf(at(args, 1)), unit, node.nowMs);
    if (whenMs === null) throw new CommandError(`ERR invalid expire time in '${name}' command`);
    const entry = keys.entry(at(args, 0));
    if (entry === undefined || !isAllowed(conditions, entry.expiresAtMs, whenMs)) return 0;
    if (whenMs <= node.nowMs) keys.delete(at(args, 0));
    else entry.expiresAtMs = whenMs;
    return 1;
  });
}

type Answer = (expiresAtMs: number, nowMs: number) => number;

function readsExpiry(name: string, answer: Answer): Command {
  return reads(name, 1, 1, ({ keys, node }: CommandContext, args) => {
    const entry = keys.entry(at(args, 0));
    if (entry === undefined) return NO_KEY;
    return entry.expiresAtMs === null ? FOREVER : answer(entry.expiresAtMs, node.nowMs);
  });
}

const seconds = (ms: number): number => Math.floor((ms + 500) / 1000);

export const EXPIRY_COMMANDS: readonly Command[] = [
  expires('expire', 'EX'),
  expires('pexpire', 'PX'),
  expires('expireat', 'EXAT'),
  expires('pexpireat', 'PXAT'),
  readsExpiry('pttl', (expiresAtMs, nowMs) => Math.max(0, expiresAtMs - nowMs)),
  readsExpiry('ttl', (expiresAtMs, nowMs) => seconds(Math.max(0, expiresAtMs - nowMs))),
  readsExpiry('pexpiretime', (expiresAtMs) => expiresAtMs),
  readsExpiry('expiretime', (expiresAtMs) => seconds(expiresAtMs)),
  writes('persist', 1, 1, ({ keys }, args) => {
    const entry = keys.entry(at(args, 0));
    if (entry === undefined || entry.expiresAtMs === null) return 0;
    entry.expiresAtMs = null;
    return 1;
  }),
];
