/**
 * Text from outside (names, owners, replies of a server), made safe to show. Whoever can write to Redis chooses that
 * text: raw, it could steer a terminal, forge lines of a log, or hide in them. The package exports these functions, for
 * the command line and for everybody else who prints what `inspect` and `list` tell.
 */

/** A name fits whole (`NAME_BYTES_MAX`); a reply that is longer is a document, and its beginning says enough. */
const LENGTH_MAX = 1024;

/**
 * Controls (C0, DEL, C1), everything without a shape of its own (bidirectional overrides, zero-width characters, tags,
 * fillers), the two line separators, halves of surrogate pairs, and what Unicode gives no meaning. U+FE0F stays: it
 * chooses the look of the emoji before it.
 */
const UNPRINTABLE = /(?!\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{DI}]/u;

const ALL_UNPRINTABLE = new RegExp(UNPRINTABLE, 'gu');

function escapeOf(character: string): string {
  if (!UNPRINTABLE.test(character)) return character;
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

/** Character by character, so that a megabyte is not escaped to show its beginning. */
function bounded(text: string, maxLength: number, show: (character: string) => string): string {
  let shown = '';
  let beforeEllipsis = '';
  for (const character of text) {
    shown += show(character);
    if (shown.length > maxLength) return `${beforeEllipsis}…`;
    if (shown.length < maxLength) beforeEllipsis = shown;
  }
  return shown;
}

/**
 * The text on one line, with `\u{…}` for each character that a terminal or a log must not get, and at most `maxLength`
 * long: a longer one ends with `…`. Never cut within an escape or a surrogate pair.
 */
export function printable(text: string, maxLength: number = LENGTH_MAX): string {
  // Nearly all text: in a table of a million names, five times as fast as the loop below.
  if (text.length <= maxLength && !UNPRINTABLE.test(text)) return text;
  return bounded(text, maxLength, escapeOf);
}

/** `printable` in quotes, which the text cannot close. For names in messages. */
export function quote(text: string, maxLength: number = LENGTH_MAX): string {
  const show = (character: string): string =>
    /["\\]/.test(character) ? `\\${character}` : escapeOf(character);
  return `"${bounded(text, maxLength, show)}"`;
}

/** JSON that says the same to a program as `JSON.stringify`, and that a terminal shows as it is. Not cut. */
export function printableJson(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replaceAll(ALL_UNPRINTABLE, escapeUnits);
}

/** JSON escapes units of UTF-16, not characters. */
function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}

/** A time in a message, in whole milliseconds: nobody can use the rest of them. */
export function inMs(ms: number): string {
  return `${Math.round(ms)} ms`;
}
