/**
 * The errors of this package. Match on `code`, which is stable, or with `instanceof`. Both work across copies of the
 * package in one process (`holdfast-sql` and `holdfast-sql/sync` are two): `instanceof` tests a registered symbol.
 */
const CODE: symbol = Symbol.for('holdfast-sql.error.code');

/** The longest piece of a caller's text that is repeated in a message. */
const SHOWN_MAX = 200;

/**
 * What a terminal or a log must not get, and JSON leaves raw: C1 controls and DEL, bidirectional overrides and other
 * characters without a shape, the two line separators, halves of surrogate pairs.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

function isOf(value: unknown, code: string): boolean {
  return typeof value === 'object' && value !== null && Reflect.get(value, CODE) === code;
}

function brand(error: Error, name: string, code: string): void {
  // Written out instead of read from `new.target.name`, because bundlers rename classes.
  error.name = name;
  Object.defineProperty(error, CODE, { value: code });
}

/** JSON escapes units of UTF-16, not characters. */
function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** A text for a message: quoted, on one line, with what has no shape of its own escaped, cut when it is long. */
export function shown(text: string): string {
  const cut = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
  return JSON.stringify(cut).replaceAll(UNPRINTABLE, escapeUnits);
}

export interface StaleFence {
  readonly resource: string;
  /** The fence that was refused. */
  readonly fence: number;
  /** The larger fence that the database has seen. */
  readonly seen: number;
}

/** A later owner has been here: this transaction must not write. Roll back, and stop the work. */
export class StaleFenceError extends Error {
  readonly code = 'ESTALEFENCE';
  readonly resource: string;
  readonly fence: number;
  readonly seen: number;
  /**
   * How far `seen` is ahead of this machine's clock, in milliseconds: fences are microseconds of Redis's clock. 0 in the usual
   * case. A large number means that a clock was once ahead, and the rightful owner is refused: see `resetFence`.
   */
  readonly aheadMs: number;

  constructor({ resource, fence, seen }: StaleFence, nowMs: number = Date.now()) {
    super(`the fence ${fence} of ${shown(resource)} is stale: the database has seen ${seen}`);
    this.resource = resource;
    this.fence = fence;
    this.seen = seen;
    this.aheadMs = Math.max(0, Math.floor(seen / 1000 - nowMs));
    brand(this, 'StaleFenceError', this.code);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isOf(value, 'ESTALEFENCE');
  }
}

/** The key was used before, for another request: the fingerprints differ. */
export class KeyMismatchError extends Error {
  readonly code = 'EKEYMISMATCH';
  readonly key: string;

  constructor(key: string) {
    super(`the key ${shown(key)} was used for another request: its fingerprint differs`);
    this.key = key;
    brand(this, 'KeyMismatchError', this.code);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isOf(value, 'EKEYMISMATCH');
  }
}

/** There is no transaction, or the database has ended or aborted it. Nothing that it protects may be relied on. */
export class NotInTransactionError extends Error {
  readonly code = 'ENOTRANSACTION';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    brand(this, 'NotInTransactionError', this.code);
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isOf(value, 'ENOTRANSACTION');
  }
}
