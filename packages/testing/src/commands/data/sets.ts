/** Commands on sets. */

import { Members } from '../../protocol/reply.ts';
import type { KeySpace } from '../../state/key-space.ts';
import { ANY, at, type Command, reads, writes } from '../command.ts';

const NO_MEMBERS: ReadonlySet<string> = new Set();

function membersAt(keys: KeySpace, key: string): ReadonlySet<string> {
  return keys.find(key, 'set')?.members ?? NO_MEMBERS;
}

export const SET_COMMANDS: readonly Command[] = [
  reads('scard', 1, 1, ({ keys }, args) => membersAt(keys, at(args, 0)).size),
  reads('sismember', 2, 2, ({ keys }, args) => (membersAt(keys, at(args, 0)).has(at(args, 1)) ? 1 : 0)),
  reads('smembers', 1, 1, ({ keys }, args) => new Members([...membersAt(keys, at(args, 0))])),
  writes('sadd', 2, ANY, ({ keys }, args) => {
    const found = keys.find(at(args, 0), 'set');
    const members = found?.members ?? new Set<string>();
    if (found === undefined) keys.put(at(args, 0), { type: 'set', members });
    const before = members.size;
    for (const member of args.slice(1)) members.add(member);
    return members.size - before;
  }),
  writes('srem', 2, ANY, ({ keys }, args) => {
    const found = keys.find(at(args, 0), 'set');
    if (found === undefined) return 0;
    const before = found.members.size;
    for (const member of args.slice(1)) found.members.delete(member);
    if (found.members.size === 0) keys.delete(at(args, 0));
    return before - found.members.size;
  }),
];
