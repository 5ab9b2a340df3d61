/** Entries of the audit stream, and how two of them are one action. */
import type { AuditEntry } from '../api/types.ts';

export type AuditFields = Readonly<Record<string, string>>;

export interface StreamEntry {
  /** The id of the entry: `<ms>-<number>`. */
  readonly at: string;
  readonly fields: AuditFields;
}

/** Reads the reply of XRANGE; what has another form is left out, as anybody who can write may have written it. */
export function readStream(reply: unknown): StreamEntry[] {
  if (!Array.isArray(reply)) return [];
  return reply.flatMap((entry: unknown) => {
    if (!Array.isArray(entry) || !Array.isArray(entry[1])) return [];
    const words = entry[1].map(String);
    const fields: Record<string, string> = {};
    for (let i = 0; i + 1 < words.length; i += 2) fields[words[i] ?? ''] = words[i + 1] ?? '';
    const at = String(entry[0]);
    return fields['id'] === undefined || !(timeOf(at) <= TIME_MS_MAX) ? [] : [{ at, fields }];
  });
}

const ACTIONS: readonly AuditEntry['action'][] = ['release', 'silence', 'ack', 'reload'];

/** Joins the entries `asked` and `done` of each action, and returns the actions, the newest first. */
export function joinEntries(entries: readonly StreamEntry[]): AuditEntry[] {
  const asked = new Map<string, StreamEntry>();
  const done = new Map<string, StreamEntry>();
  for (const entry of entries) {
    const { id = '', phase } = entry.fields;
    const into = phase === 'done' ? done : asked;
    if (!into.has(id)) into.set(id, entry);
  }
  return [...asked.entries()]
    .flatMap(([id, entry]): AuditEntry[] => {
      const action = ACTIONS.find((one) => one === entry.fields['action']);
      return action === undefined ? [] : [view(id, action, entry, done.get(id))];
    })
    .sort((a, b) => b.askedAt - a.askedAt);
}

function view(
  id: string,
  action: AuditEntry['action'],
  { at, fields }: StreamEntry,
  end: StreamEntry | undefined,
): AuditEntry {
  const text = (name: string): string => fields[name] ?? '';
  const known = (name: string): string | null => (text(name) === '' ? null : text(name));
  return {
    id,
    askedAt: timeOf(at),
    doneAt: end === undefined ? null : timeOf(end.at),
    action,
    subject: text('lock'),
    holder: known('holder'),
    fence: known('fence') === null ? null : Number(text('fence')),
    by: text('by'),
    via: text('via'),
    host: text('host'),
    address: known('address'),
    reason: text('reason'),
    result: end?.fields['result'] ?? null,
  };
}

/** The last moment that a `Date` can be. The id of an entry may be later. */
const TIME_MS_MAX = 8_640_000_000_000_000;

export function timeOf(id: string): number {
  return Number(id.split('-')[0]);
}
