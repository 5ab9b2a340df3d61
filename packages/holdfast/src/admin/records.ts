/** Adds to inspections who the sessions are that own and wait, as far as they have a record. */
import type { InspectedWaiter, Inspection } from './inspection.ts';
import type { AdminServers } from './servers.ts';
import { readSessionRecords, type SessionRecord } from './session-record.ts';

/** By session; null: it has none. */
type Records = Map<string, SessionRecord | null>;

/** `known` keeps what was read, so that a long list reads each session once. */
export async function withRecords(
  servers: AdminServers,
  inspections: readonly Inspection[],
  known: Records,
): Promise<Inspection[]> {
  const sessions = new Set(inspections.flatMap(sessionsIn));
  const unknown = [...sessions].filter((session) => !known.has(session));
  const records = await readSessionRecords(unknown, (call) => servers.query(call));
  for (const session of unknown) known.set(session, records.get(session) ?? null);
  return inspections.map((inspection) => withKnown(inspection, known));
}

function sessionsIn(inspection: Inspection): string[] {
  if (inspection.kind === 'other') return [];
  const owner = ownerSession(inspection);
  const waiting = inspection.line.map(({ session }) => session);
  return owner === null ? waiting : [owner, ...waiting];
}

/** Null for a mutex: its token names no session. */
function ownerSession(inspection: Inspection): string | null {
  return 'holdCount' in inspection ? (inspection.owner.split(':')[0] ?? null) : null;
}

function withKnown(inspection: Inspection, known: Records): Inspection {
  if (inspection.kind === 'other') return inspection;
  const line = inspection.line.map((waiter): InspectedWaiter => {
    const record = known.get(waiter.session) ?? null;
    return record === null ? waiter : { ...waiter, record };
  });
  const owner = ownerSession(inspection);
  const record = owner === null ? null : (known.get(owner) ?? null);
  if (record === null || !('holdCount' in inspection)) return { ...inspection, line };
  return { ...inspection, line, record };
}
