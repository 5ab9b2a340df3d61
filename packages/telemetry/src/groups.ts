/**
 * From the name of a lock to its group. Names have no bound, and a label must have one: at most `GROUPS_MAX` groups, and
 * everything else is `OTHER`.
 */
import { LockConfigError, quote } from 'holdfast';
import type { Report } from './report.ts';

/** A group for each of a program's uses of locks. Each costs about 60 series in Prometheus. */
export const GROUPS_MAX = 100;

/** The group of names that match nothing, and of everything beyond `GROUPS_MAX`. */
export const OTHER = '_other_';

/** Names whose group is remembered: matching patterns costs more than looking up. */
const REMEMBERED_MAX = 1_000;

/**
 * Patterns, in which `*` stands for any text: a name belongs to the first pattern that matches, and the pattern is the
 * group. Or a function that returns the group of a name; `undefined` means none of them.
 */
export type GroupsOption = readonly string[] | ((name: string, kind: string) => string | undefined);

type Choose = (name: string, kind: string) => string | undefined;

/** What a name belongs to. */
export interface Grouped {
  readonly group: string;
  /** Whether there were too many groups for this one. */
  readonly isOverflow: boolean;
}

/**
 * Whether a name fits a pattern. The pieces between the stars are looked for one after the other, each where it comes first:
 * in one pass. A regular expression would try all ways to share the name among the stars, and names come from requests.
 */
function fitterOf(pattern: string): (name: string) => boolean {
  const [first = '', ...pieces] = pattern.split('*');
  const last = pieces.pop();
  if (last === undefined) return (name) => name === first;
  return (name) => {
    if (!name.startsWith(first) || !name.endsWith(last)) return false;
    let at = first.length;
    for (const piece of pieces) {
      const found = name.indexOf(piece, at);
      if (found < 0) return false;
      at = found + piece.length;
    }
    return at + last.length <= name.length;
  };
}

function chooseBy(patterns: readonly string[]): Choose {
  const fitters = patterns.map((pattern) => [pattern, fitterOf(pattern)] as const);
  return (name) => fitters.find(([, fits]) => fits(name))?.[0];
}

export class Groups {
  readonly #choose: Choose;
  readonly #report: Report;
  readonly #groups = new Set<string>();
  readonly #remembered = new Map<string, Map<string, Grouped>>();

  constructor(option: GroupsOption, report: Report) {
    this.#choose = typeof option === 'function' ? option : chooseBy(option);
    this.#report = report;
  }

  of(name: string, kind: string): Grouped {
    let ofKind = this.#remembered.get(kind);
    const known = ofKind?.get(name);
    if (known !== undefined) return known;
    if (ofKind === undefined || ofKind.size >= REMEMBERED_MAX) {
      ofKind = new Map();
      this.#remembered.set(kind, ofKind);
    }
    const grouped = this.#bounded(this.#chosen(name, kind));
    ofKind.set(name, grouped);
    return grouped;
  }

  #chosen(name: string, kind: string): string {
    try {
      const group: unknown = this.#choose(name, kind);
      if (group === undefined) return OTHER;
      if (typeof group === 'string' && group !== '') return group;
      this.#report('groups', `expected groups to return a text that is not empty, got ${typeof group}`);
    } catch (error) {
      this.#report('groups', `groups threw ${String(error)}`);
    }
    return OTHER;
  }

  #bounded(group: string): Grouped {
    if (group === OTHER || this.#groups.has(group)) return { group, isOverflow: false };
    if (this.#groups.size < GROUPS_MAX) {
      this.#groups.add(group);
      return { group, isOverflow: false };
    }
    const message = `more than ${GROUPS_MAX} groups: ${quote(group)} and all further ones are counted as ${OTHER}`;
    this.#report('overflow', message);
    return { group: OTHER, isOverflow: true };
  }
}

export function checkGroups(value: unknown): GroupsOption | undefined {
  if (value === undefined || typeof value === 'function') return value as GroupsOption | undefined;
  if (!Array.isArray(value)) {
    throw new LockConfigError(
      `expected groups to be an array of patterns or a function, got ${typeof value}`,
    );
  }
  if (value.length === 0 || value.length > GROUPS_MAX) {
    throw new LockConfigError(`expected groups to have 1 to ${GROUPS_MAX} patterns, got ${value.length}`);
  }
  for (const pattern of value) {
    if (typeof pattern === 'string' && pattern !== '') continue;
    const got = typeof pattern === 'string' ? 'an empty text' : typeof pattern;
    throw new LockConfigError(`expected each of groups to be a pattern such as "order:*", got ${got}`);
  }
  // A copy: the caller's array may change.
  return [...(value as readonly string[])];
}
