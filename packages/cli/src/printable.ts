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
 * A message without the user and the password of the URLs in it. A password may have any character, an `@` too, so all
 * before the last `@` of a URL goes. Where a password has a space in it, only the words that it came from can tell.
 */
export function withoutLogins(text: string, words: readonly string[] = []): string {
  const known = words.flatMap((word, at) => loginIn(word, words[at - 1]) ?? []);
  const shown = known.reduce(
    (rest, { login, scheme }) =>
      spellings(login).reduce((said, spelling) => said.replaceAll(spelling, () => `${scheme}…@`), rest),
    text,
  );
  return shown.replaceAll(/([a-z][a-z0-9+.-]*:\/\/)\S*@/gi, '$1…@');
}

/** The words of a command line, each without its login. */
export function wordsWithoutLogins(words: readonly string[]): string[] {
  return words.map((word, at) => {
    const found = loginIn(word, words[at - 1]);
    return found === null ? word : word.replace(found.login, () => `${found.scheme}…@`);
  });
}

/** From the scheme to the last `@` of the word: one word is one URL, whatever its password is made of. */
const LOGIN = /([a-z][a-z0-9+.-]*:\/\/).*@/is;
/** Behind these a login may stand without a scheme, by mistake. */
const SERVER_OPTION = /^--(?:redis|sentinel)$/;
const SERVER_VALUE = /^(?:--(?:redis|sentinel)=)/;

function loginIn(word: string, before = ''): { login: string; scheme: string } | null {
  const [login, scheme = ''] = LOGIN.exec(word) ?? [];
  if (login !== undefined) return { login, scheme };
  const value = SERVER_OPTION.test(before)
    ? word
    : SERVER_VALUE.test(word)
      ? word.replace(SERVER_VALUE, '')
      : '';
  const end = value.lastIndexOf('@') + 1;
  return end === 0 ? null : { login: value.slice(0, end), scheme: '' };
}

/** As messages have it: as it is, in JSON, in quotes. */
function spellings(text: string): string[] {
  return [text, JSON.stringify(text).slice(1, -1), quote(text).slice(1, -1)];
}
