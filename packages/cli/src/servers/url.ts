/**
 * Reads the URL of a server. Passwords are written into URLs as they are, with `/`, `@`, `,` or `#` in them, so all
 * before the last `@` is the login. No message has any part of the text in it but its scheme: where a URL is wrong, any
 * part may be the password.
 */
import { isIP, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { Failure } from '../failure.ts';

export interface ServerUrl {
  /** `redis`, `rediss`, `valkey`, `valkeys` or `unix`. */
  readonly scheme: string;
  /** Null when the URL does not say. */
  readonly username: string | null;
  readonly password: string | null;
  /** Empty for a socket, or when the URL names none. */
  readonly host: string;
  readonly port: number | null;
  readonly db: number;
  /** The path of a unix socket; empty otherwise. */
  readonly path: string;
}

const SCHEMES = ['redis', 'rediss', 'valkey', 'valkeys', 'unix'];
const EXAMPLE = 'a URL such as redis://127.0.0.1:6379 or rediss://user:password@host:6380/0';
const PORT_MAX = 65_535;

/** `source` is where it stands, for the message: an option or a variable. */
export function parseServerUrl(text: string, source: string): ServerUrl {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(text.trim()) ?? [];
  const fail = (expected: string): Failure => new Failure('usage', `${source}: expected ${expected}`);
  if (scheme === '') throw fail(`${EXAMPLE}, got something without redis:// before it`);
  const known = SCHEMES.find((one) => one === scheme.toLowerCase());
  if (known === undefined) throw fail(`${EXAMPLE}, got another scheme than redis:// and rediss://`);
  const { login, place } = splitLogin(known, rest);
  const who = parseLogin(login, fail);
  if (known === 'unix')
    return { scheme: known, ...who, host: '', port: null, db: 0, path: decode(place, fail) };
  return { scheme: known, ...who, ...parsePlace(place, fail), path: '' };
}

type Fail = (expected: string) => Failure;

/** The path of a socket may have an `@` in it; one that begins with a slash has no login before it. */
function splitLogin(scheme: string, rest: string): { login: string | null; place: string } {
  const at = scheme === 'unix' ? (rest.startsWith('/') ? -1 : rest.lastIndexOf('@/')) : rest.lastIndexOf('@');
  return { login: at < 0 ? null : rest.slice(0, at), place: rest.slice(at + 1) };
}

function parseLogin(login: string | null, fail: Fail): Pick<ServerUrl, 'username' | 'password'> {
  if (login === null) return { username: null, password: null };
  const colon = login.indexOf(':');
  const username = decode(colon < 0 ? login : login.slice(0, colon), fail);
  const password = colon < 0 ? null : decode(login.slice(colon + 1), fail);
  return { username: username === '' ? null : username, password };
}

function decode(text: string, fail: Fail): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw fail('a % in a user, a password or a path to be written as %25, got one that stands alone');
  }
}

function parsePlace(place: string, fail: Fail): Pick<ServerUrl, 'host' | 'port' | 'db'> {
  const [, authority = '', path = '', query] = /^([^/?#]*)\/?([^?#]*)(.*)$/s.exec(place) ?? [];
  if (query !== '') throw fail('nothing after the number of the database, got a ? or a #');
  const [, bracketed, plain = '', port = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::(.*))?$/s.exec(authority) ?? [];
  if (!/^\d*$/.test(port) || Number(port) > PORT_MAX || (port !== '' && Number(port) === 0)) {
    throw fail(
      `a port from 1 to ${PORT_MAX} after the host, got something else; is the @ before the host missing?`,
    );
  }
  if (!/^\d*$/.test(path)) throw fail('the number of a database after the port, got something else');
  const host = bracketed === undefined ? hostOf(plain) : isIPv6(bracketed) ? bracketed : null;
  if (host === null)
    throw fail('the name or the IP address of a host (IPv6 in brackets), got something else');
  return { host, port: port === '' ? null : Number(port), db: Number(path) };
}

/** Null for what is no host. */
function hostOf(text: string): string | null {
  if (text === '' || isIP(text) !== 0) return text;
  const host = domainToASCII(text);
  return /^[a-z0-9._-]+$/.test(host) ? host : null;
}

/** For programs that read URLs in their own way: every part of it in the form that all understand. */
export function writeServerUrl({ scheme, username, password, host, port, db, path }: ServerUrl): string {
  const login = [username ?? '', ...(password === null ? [] : [password])].map(encodeURIComponent).join(':');
  const before = login === '' ? '' : `${login}@`;
  if (scheme === 'unix') return `unix://${before}${encodeURI(path)}`;
  const shownHost = isIPv6(host) ? `[${host}]` : host;
  return `${scheme.replace(/^valkey/, 'redis')}://${before}${shownHost}${port === null ? '' : `:${port}`}/${db}`;
}
