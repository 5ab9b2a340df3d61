/** All locks and mutexes that are held, found with SCAN. */
import { LockUnavailableError } from '../errors.ts';
import { DERIVED_BYTES_MAX, roleOf } from '../keys/derived.ts';
import { NAME_BYTES_MAX, sharesSlot } from '../keys/name.ts';
import { adminScan } from '../scripts/generated.ts';
import type { QueryCall } from '../topologies/topology.ts';
import { inspectName } from './inspect.ts';
import type { Inspection } from './inspection.ts';
import { withRecords } from './records.ts';
import type { AdminServers } from './servers.ts';
import type { SessionRecord } from './session-record.ts';

export interface ListOptions {
  /** Only names that begin so. @default '' */
  readonly prefix?: string;
  /**
   * Also strings with an expiry that may be a mutex of another library: their value looks random. A cached value
   * may look so too. @default false
   */
  readonly all?: boolean;
  /**
   * Also reads the records of the sessions that own and wait: application, host and process. One call more for each
   * session. @default false
   */
  readonly record?: boolean;
}

/** Keys that one SCAN looks at. */
const SCAN_COUNT = 500;

/** Names inspected at once. */
const INSPECT_MAX = 64;

/** Waiters that are shown of each lock. The others are counted. */
const SHOWN_MAX = 10;

/** A lock's owner: a session or a Redisson client, and the number of the hold or thread. */
const OWNER = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+$/;

export async function* list(
  servers: AdminServers,
  { prefix, all, record }: Required<ListOptions>,
): AsyncGenerator<Inspection, void, undefined> {
  const records = record ? new Map<string, SessionRecord | null>() : null;
  for await (const names of namesIn(servers, prefix, all)) {
    for (let i = 0; i < names.length; i += INSPECT_MAX) {
      const some = names.slice(i, i + INSPECT_MAX);
      const found = await Promise.all(some.map((name) => inspectFound(servers, name)));
      const held = found.filter((inspection) => inspection !== null).filter(isHeld);
      yield* records === null ? held : await withRecords(servers, held, records);
    }
  }
}

/** The name, or the key of a lock that is made from a name. */
async function inspectFound(servers: AdminServers, name: string): Promise<Inspection | null> {
  const inspecting = inspectName(servers, name, SHOWN_MAX);
  if (roleOf(name) === null) return inspecting;
  // A user whose rights end with the prefix may not look at the keys that are made from names: then they are left out.
  return inspecting.catch((error: unknown) => {
    if (error instanceof LockUnavailableError && error.servers.some(({ text }) => /NOPERM/.test(text)))
      return null;
    throw error;
  });
}

/** The names of what looks like a lock or a mutex, page by page, each name once. */
async function* namesIn(
  servers: AdminServers,
  prefix: string,
  isAll: boolean,
): AsyncGenerator<readonly string[], void, undefined> {
  const { keyPrefix, hasShards } = servers;
  const terms = {
    // The name may stand inside a key: keys of once keys, leaders and jobs have the name behind a prefix of holdfast.
    pattern: `*${escapeGlob(keyPrefix + prefix)}*`.replace(/^\*\*$/, '*'),
    count: SCAN_COUNT,
    keyBytesMax: Buffer.byteLength(keyPrefix) + NAME_BYTES_MAX + DERIVED_BYTES_MAX,
    wantsAll: isAll ? 1 : 0,
  };
  // SCAN may return a key twice while the table is resized, and in a quorum every server returns it.
  const seen = new Set<string>();
  const cursors = new Map<number, string>();
  const scanned = await servers.all();
  for (let i = 0; i < scanned.size; i += 1) cursors.set(i, '0');
  while (cursors.size > 0) {
    const callFor: QueryCall = (index) => {
      const cursor = cursors.get(index);
      return cursor === undefined ? null : adminScan.call({ cursor, ...terms });
    };
    const needed = Math.min(scanned.needed, cursors.size);
    const pages = await servers.ask({ ...scanned, needed }, callFor, adminScan.decode, prefix);
    const rest = new Map(pages.map(({ index, value }) => [index, value.cursor]));
    // A server that is not needed and does not answer is left out: the others have what a majority has.
    for (const index of [...cursors.keys()]) {
      const cursor = rest.get(index);
      if (cursor === undefined || cursor === '0') cursors.delete(index);
      else cursors.set(index, cursor);
    }
    const keys = new Set(pages.flatMap(({ value }) => value.keys));
    const names = [...keys]
      // In a cluster no lock has a name whose keys would be in different slots: such a key is somebody's data.
      .filter((key) => !hasShards || sharesSlot(key))
      .flatMap((key) => nameOf(key, keyPrefix, prefix))
      .filter((name) => name !== '' && !seen.has(name));
    for (const name of names) seen.add(name);
    yield names;
  }
}

/** What `inspectName` takes: a key that is made from a name as it is, any other without the prefix of all keys. */
function nameOf(key: string, keyPrefix: string, prefix: string): string[] {
  const wanted = keyPrefix + prefix;
  if (roleOf(key)?.origin.startsWith(wanted)) return [key];
  return key.startsWith(wanted) ? [key.slice(keyPrefix.length)] : [];
}

/** SCAN took it for a lock by its form; the inspection after it may have found something else. */
function isHeld(inspection: Inspection): boolean {
  return 'holdCount' in inspection ? OWNER.test(inspection.owner) : inspection.kind === 'mutex';
}

function escapeGlob(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, '\\$&');
}
