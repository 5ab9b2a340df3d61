/** Asks what stands under one name: who holds the lock or the mutex, for how long, who waits. */
import type { Reply } from '../clients/client.ts';
import { hasLineOfWaiters, roleOf } from '../keys/derived.ts';
import { fenceKey, lineKey, lockChannel, mutexChannel } from '../keys/name.ts';
import { assert } from '../runtime/assert.ts';
import { adminInspect } from '../scripts/generated.ts';
import { agree } from './agreement.ts';
import type { InspectedLine, InspectedWaiter, Inspection } from './inspection.ts';
import { withRecords } from './records.ts';
import type { AdminServers, Answer } from './servers.ts';

/** Waiters that one inspection shows: a screen or two. Reading them takes the server about a quarter of a millisecond. */
const SHOWN_MAX = 100;

/** Null when nothing stands under the name, and nobody waits for it. */
export async function inspect(
  servers: AdminServers,
  name: string,
  wantsRecord: boolean,
): Promise<Inspection | null> {
  const found = await inspectName(servers, name, SHOWN_MAX);
  if (found === null || !wantsRecord) return found;
  const [inspection = found] = await withRecords(servers, [found], new Map());
  return inspection;
}

/** Without records. */
export async function inspectName(
  servers: AdminServers,
  name: string,
  shownMax: number,
): Promise<Inspection | null> {
  const key = servers.keyOf(name);
  const channels = { lockChannel: lockChannel(key), mutexChannel: mutexChannel(key) };
  const hasLine = servers.hasLine && hasLineOfWaiters(key);
  const askWith = (fence: string, line: string): Promise<Answer<Inspection | null>[]> =>
    servers.ask(
      servers.deciding,
      (_, mode) =>
        adminInspect.call({ name: key, fence, line, ...channels, mode, shownMax: hasLine ? shownMax : 0 }),
      (reply) => withKind(servers, key, readInspection(name, reply, hasLine)),
      name,
    );
  // While a slot of a cluster moves, the keys of one lock may be on different nodes. A call that names only the lock's
  // own key is then answered, without the fence and the line.
  const answers = await servers.withOwnKeyIfSplit(
    () => askWith(fenceKey(key), hasLine ? lineKey(key) : key),
    () => askWith(key, key),
  );
  return agree(
    answers.map(({ value }) => value),
    servers.majority,
  );
}

/** The lock of a once key, a leader or a job is shown as that. */
function withKind(servers: AdminServers, key: string, inspection: Inspection | null): Inspection | null {
  const found = roleOf(key);
  if (inspection?.kind !== 'lock' || !found?.origin.startsWith(servers.keyPrefix)) return inspection;
  return { ...inspection, kind: found.role, name: found.origin.slice(servers.keyPrefix.length) };
}

function readInspection(name: string, reply: Reply, hasLine: boolean): Inspection | null {
  const found = adminInspect.decode(reply);
  if (found.is === 'ABSENT') return null;
  if (found.is === 'OTHER') return { name, kind: 'other', found: found.found, ttlMs: found.ttlMs };
  const { tickets, listeners, line } = found;
  const waiting: InspectedLine = hasLine
    ? { waiters: tickets, line: readRows(line), guests: listeners }
    : { waiters: listeners, line: [], guests: 0 };
  if (found.is === 'FREE') return { name, kind: 'free', openMs: found.openMs, ...waiting };
  const { owner, ttlMs } = found;
  const mayLinger = found.mayLinger === 1;
  if (found.is === 'MUTEX') return { name, kind: 'mutex', owner, ttlMs, mayLinger, ...waiting };
  const fence = found.fence === '' ? undefined : Number(found.fence);
  return { name, kind: 'lock', owner, holdCount: Number(found.count), ttlMs, fence, mayLinger, ...waiting };
}

/** The rows that lua/include/shown-line.lua writes. */
function readRows(text: string): InspectedWaiter[] {
  const rows = text.split('\n').slice(0, -1);
  return rows.map((row, index) => {
    const [, waitedMs, hears, session] = /^(\d+) ([hd]) (\S+)$/.exec(row) ?? [];
    assert(session !== undefined, () => `a row of the line is ${JSON.stringify(row)}`);
    return { place: index + 1, session, waitedMs: Number(waitedMs), isListening: hears === 'h' };
  });
}
