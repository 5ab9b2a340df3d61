/**
 * Text from outside (names and owners from Redis, replies of servers, arguments) made safe to show. Whoever can write
 * to Redis chooses that text: raw, it could steer a terminal, forge lines of a log, or hide in them.
 */

/**
 * Controls (C0, DEL, C1), everything without a shape of its own (bidirectional overrides, zero-width characters, tags,
 * fillers), the two line separators, halves of surrogate pairs, and what Unicode gives no meaning. U+FE0F stays: it
 * chooses the look of the emoji before it.
 */
const UNPRINTABLE = /(?!\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{DI}]/gu;

/** On one line, with `\u{…}` for each character that a terminal or a log must not get. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The same in quotes, which the text cannot close. For names in messages. */
export function quote(text: string): string {
  return `"${printable(text.replaceAll(/["\\]/g, '\\$&'))}"`;
}

/** JSON that says the same to a program as `JSON.stringify`, and that a terminal shows as it is. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(UNPRINTABLE, (character) =>
    // In the units of UTF-16: JSON has no other escapes.
    Array.from({ length: character.length }, (_, at) => escapeUnit(character.charCodeAt(at))).join(''),
  );
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}

/**
 * Without the user and the password of the URLs in it. A password may have any character, an `@` too, so all before the
 * last `@` of the word goes.
 */
export function withoutLogins(text: string): string {
  return text.replaceAll(/([a-z][a-z0-9+.-]*:\/\/)\S*@/gi, '$1…@');
}
