/** What one look saw of one name, decoded from the reply of LOOK. */

export interface Sample {
  readonly name: string;
  readonly kind: 'lock' | 'mutex' | 'free' | 'none' | 'away';
  readonly holder: string;
  readonly count: number;
  /** -1: no expiry. */
  readonly ttlMs: number;
  readonly fence: number | null;
  readonly waiting: number;
  /** By the server's clock. */
  readonly firstSinceMs: number | null;
}

export interface LookReply {
  readonly serverMs: number;
  readonly samples: readonly Sample[];
}

const FIELDS = 7;

/** Throws on what is no reply of LOOK for those names. */
export function readLook(reply: unknown, names: readonly string[]): LookReply {
  if (!Array.isArray(reply) || reply.length !== 1 + names.length * FIELDS) {
    throw new Error(`expected ${1 + names.length * FIELDS} values of a look, got ${describe(reply)}`);
  }
  const values: readonly unknown[] = reply;
  const samples = names.map((name, index): Sample => {
    const at = 1 + index * FIELDS;
    const text = (offset: number): string => String(values[at + offset] ?? '');
    const number = (offset: number): number | null => (text(offset) === '' ? null : Number(text(offset)));
    return {
      name,
      kind: kindOf(text(0)),
      holder: text(1),
      count: number(2) ?? 0,
      ttlMs: number(3) ?? 0,
      fence: number(4),
      waiting: number(5) ?? 0,
      firstSinceMs: number(6),
    };
  });
  return { serverMs: Number(values[0]), samples };
}

function kindOf(text: string): Sample['kind'] {
  return text === 'lock' || text === 'mutex' || text === 'free' || text === 'away' ? text : 'none';
}

function describe(reply: unknown): string {
  return Array.isArray(reply) ? `${reply.length}` : typeof reply;
}

export interface SurveyReply {
  readonly cursor: string;
  readonly keys: number;
  readonly names: readonly string[];
  /** Strings with an expiry that may be a mutex of another library. */
  readonly strings: readonly string[];
}

export function readSurvey(reply: unknown): SurveyReply {
  if (!Array.isArray(reply) || reply.length < 2)
    throw new Error(`expected a page of a survey, got ${describe(reply)}`);
  const [cursor, keys, ...found] = reply.map(String);
  return {
    cursor: cursor ?? '0',
    keys: Number(keys),
    names: found.filter((key) => key.startsWith('=')).map((key) => key.slice(1)),
    strings: found.filter((key) => key.startsWith('?')).map((key) => key.slice(1)),
  };
}
