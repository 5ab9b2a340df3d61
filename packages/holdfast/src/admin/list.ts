/** All locks and mutexes that are held, found with SCAN. */
import { LockUnavailableError } from '../errors.ts';
import { NAME_BYTES_MAX, type Role, roleOf, sharesSlot } from '../keys/name.ts';
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

/** What our words and braces add to a key at most. */
const ROLE_BYTES_MAX = 32;

/** Waiters that are shown of each lock. The others are counted. */
const SHOWN_MAX = 10;

/** A lock's owner: a session or a Redisson client, and the number of the hold or thread. */
const OWNER = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+$/;

export async function* list(
  servers: AdminServers,
  { prefix, all, record }: Required<ListOptions>,
): AsyncGenerator<Inspection, void, undefined> {
  const records = record ? new Map<string, SessionRecord | null>() : null;
  for await (const locks of locksIn(servers, prefix, all)) {
    for (let i = 0; i < locks.length; i += INSPECT_MAX) {
      const some = locks.slice(i, i + INSPECT_MAX);
      const found = await Promise.all(some.map((lock) => inspectFound(servers, lock)));
      const held = found.filter((inspection) => inspection !== null).filter(isHeld);
      yield* records === null ? held : await withRecords(servers, held, records);
    }
  }
}

/** What looks like a lock or a mutex. */
interface FoundLock {
  readonly key: string;
  readonly name: string;
  /** Null: it is there for its own name. */
  readonly role: Role | null;
}

async function inspectFound(
  servers: AdminServers,
  { key, name, role }: FoundLock,
): Promise<Inspection | null> {
  if (role === null) return inspectName(servers, name, SHOWN_MAX);
  // A user whose rights end with the prefix may not look at the keys that are made from names: then they are left out.
  const found = await inspectName(servers.withoutPrefix, key, SHOWN_MAX).catch((error: unknown) => {
    if (error instanceof LockUnavailableError && error.servers.some(({ text }) => /NOPERM/.test(text)))
      return null;
    throw error;
  });
  return found?.kind === 'lock' ? { ...found, name, role } : null;
}

/** Null: the key is of another prefix. */
function foundLock(key: string, keyPrefix: string, prefix: string): FoundLock | null {
  const derived = roleOf(key);
  const ofName = derived?.key ?? key;
  const name = ofName.slice(keyPrefix.length);
  if (!ofName.startsWith(keyPrefix + prefix) || name === '') return null;
  return { key, name, role: derived?.role ?? null };
}

/** What looks like a lock or a mutex, page by page, each key once. */
async function* locksIn(
  servers: AdminServers,
  prefix: string,
  isAll: boolean,
): AsyncGenerator<readonly FoundLock[], void, undefined> {
  const { keyPrefix, hasShards } = servers;
  const terms = {
    // Also within a key: those of leaders and jobs have the name behind a word of ours.
    pattern: `*${escapeGlob(keyPrefix + prefix)}*`.replace(/^\*\*$/, '*'),
    count: SCAN_COUNT,
    keyBytesMax: Buffer.byteLength(keyPrefix) + NAME_BYTES_MAX + ROLE_BYTES_MAX,
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
    const locks = [...keys]
      // In a cluster no lock has a name whose keys would be in different slots: such a key is somebody's data.
      .filter((key) => !seen.has(key) && (!hasShards || sharesSlot(key)))
      .map((key) => foundLock(key, keyPrefix, prefix))
      .filter((lock) => lock !== null);
    for (const { key } of locks) seen.add(key);
    yield locks;
  }
}

/** SCAN took it for a lock by its form; the inspection after it may have found something else. */
function isHeld(inspection: Inspection): boolean {
  return inspection.kind === 'lock' ? OWNER.test(inspection.owner) : inspection.kind === 'mutex';
}

function escapeGlob(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, '\\$&');
}
