/** Asks what stands under one name: who holds the lock or the mutex, for how long, how many wait. */
import type { Reply } from '../clients/client.ts';
import { LockUnavailableError } from '../errors.ts';
import { fenceKey, lineKey, lockChannel, mutexChannel } from '../keys/name.ts';
import { adminInspect } from '../scripts/generated.ts';
import { agree } from './agreement.ts';
import type { Inspection } from './inspection.ts';
import type { AdminServers, Answer } from './servers.ts';
import { readSessionRecords, type SessionRecord } from './session-record.ts';

/** Null when nothing stands under the name. */
export async function inspect(
  servers: AdminServers,
  name: string,
  wantsRecord: boolean,
): Promise<Inspection | null> {
  const found = await inspectName(servers, name);
  if (found === null || !wantsRecord) return found;
  const [inspection = found] = await withRecords(servers, [found], new Map());
  return inspection;
}

/** Without the record. */
export async function inspectName(servers: AdminServers, name: string): Promise<Inspection | null> {
  const key = servers.keyPrefix + name;
  const channels = { lockChannel: lockChannel(key), mutexChannel: mutexChannel(key) };
  const askWith = (fence: string, line: string): Promise<Answer<Inspection | null>[]> =>
    servers.ask(
      servers.deciding,
      (_, mode) => adminInspect.call({ name: key, fence, line, ...channels, mode }),
      (reply) => readInspection(name, reply),
      name,
    );
  // While a slot of a cluster moves, a lock, its fence counter and its line may be on different nodes. A call that names
  // only the lock's key is then answered, without the fence and without those in line.
  const answers = await askWith(fenceKey(key), lineKey(key)).catch((error: unknown) => {
    if (isSplitBetweenNodes(error)) return askWith(key, key);
    throw error;
  });
  return agree(
    answers.map(({ value }) => value),
    servers.majority,
  );
}

/** Adds what is known of the owners. `known` keeps what was read, so that a long list reads each session once. */
export async function withRecords(
  servers: AdminServers,
  inspections: readonly Inspection[],
  known: Map<string, SessionRecord | null>,
): Promise<Inspection[]> {
  const sessions = new Set(inspections.map(sessionOf).filter((session) => session !== null));
  const unknown = [...sessions].filter((session) => !known.has(session));
  const records = await readSessionRecords(unknown, (call) => servers.query(call));
  for (const session of unknown) known.set(session, records.get(session) ?? null);
  return inspections.map((inspection) => {
    const session = sessionOf(inspection);
    const record = session === null ? null : (known.get(session) ?? null);
    return record === null || inspection.kind !== 'lock' ? inspection : { ...inspection, record };
  });
}

/** Null for a mutex: its token names no session. */
function sessionOf(inspection: Inspection): string | null {
  return inspection.kind === 'lock' ? (inspection.owner.split(':')[0] ?? null) : null;
}

function readInspection(name: string, reply: Reply): Inspection | null {
  const found = adminInspect.decode(reply);
  switch (found.is) {
    case 'ABSENT':
      return null;
    case 'LOCK': {
      const { owner, ttlMs, waiters } = found;
      const fence = found.fence === '' ? undefined : Number(found.fence);
      return { name, kind: 'lock', owner, holdCount: Number(found.count), ttlMs, fence, waiters };
    }
    case 'MUTEX':
      return { name, kind: 'mutex', owner: found.owner, ttlMs: found.ttlMs, waiters: found.waiters };
    case 'OTHER':
      return { name, kind: 'other', found: found.found, ttlMs: found.ttlMs };
  }
}

function isSplitBetweenNodes(error: unknown): boolean {
  return (
    error instanceof LockUnavailableError && error.servers.some(({ text }) => text.startsWith('TRYAGAIN'))
  );
}
