/**
 * Takes users and passwords out of what is shown: messages, and the words of our own command line. A login stands in
 * the URL of a server, and behind `--redis` and `--sentinel` also without a scheme, by mistake.
 */
import { quote } from './printable.ts';

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
const SERVER_OPTION = /^--(?:redis|sentinel|writer)$/;
const SERVER_VALUE = /^(?:--(?:redis|sentinel|writer)=)/;

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
