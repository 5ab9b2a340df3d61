/** From names of locks, which have no bound, to groups, which are labels: the patterns that the operator gave. */
import { matcherOf } from './glob.ts';

/** The most groups that an operator may name: each makes some 15 series in Prometheus. */
export const GROUPS_MAX = 100;

/** The group of names that fit no pattern. */
const OTHER = '_other_';

/** Names whose group is remembered: looking up costs less than trying a hundred patterns. */
const REMEMBERED_MAX = 20_000;

export class LockGroups {
  /** All that there are: the patterns, and one for the rest. */
  readonly names: readonly string[];
  readonly #tests: readonly (readonly [string, (name: string) => boolean])[];
  readonly #remembered = new Map<string, string>();

  constructor(patterns: readonly string[]) {
    this.names = [...new Set([...patterns, OTHER])];
    this.#tests = patterns.map((pattern) => [pattern, matcherOf([pattern], '') ?? (() => false)]);
  }

  /** The first pattern that fits. */
  of(name: string): string {
    const known = this.#remembered.get(name);
    if (known !== undefined) return known;
    const group = this.#tests.find(([, fits]) => fits(name))?.[0] ?? OTHER;
    if (this.#remembered.size >= REMEMBERED_MAX) this.#remembered.clear();
    this.#remembered.set(name, group);
    return group;
  }
}
