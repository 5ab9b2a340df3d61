/** Where the servers are: read from options and the environment, checked before anything is connected. */
import { isIP, isIPv6 } from 'node:net';
import { Failure } from '../failure.ts';
import { quote } from '../printable.ts';
import { readTlsOptions, type TlsFlags, type TlsOptions, usedTlsFlag } from './tls.ts';
import { parseServerUrl, type ServerUrl } from './url.ts';

/** What the command line may say about servers. */
export interface ServerFlags extends TlsFlags {
  readonly redis?: readonly string[];
  readonly sentinel?: readonly string[];
  readonly sentinelName?: string;
  readonly cluster?: boolean;
}

/** One server as ioredis wants it, and as people read it. */
export interface Address {
  /** Without user and password. */
  readonly label: string;
  readonly options: ConnectOptions;
}

export interface ConnectOptions {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly db?: number;
  readonly username?: string;
  readonly password?: string;
  readonly tls?: TlsOptions & { readonly servername?: string };
  readonly sentinels?: readonly { readonly host: string; readonly port: number }[];
  readonly name?: string;
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
}

const DEFAULT_URL = 'redis://127.0.0.1:6379';
const DEFAULT_HOST = '127.0.0.1';
const PORT_DEFAULT = 6379;
const SENTINEL_PORT_DEFAULT = 26379;

export type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the servers are nodes of one cluster. */
export function isCluster(flags: ServerFlags, environment: Environment): boolean {
  if (flags.cluster === true) return true;
  const said = environment['HOLDFAST_REDIS_CLUSTER'] ?? '';
  // Sentinels that were named on the command line are not overruled by what stands in the environment.
  if (flags.sentinel !== undefined) return false;
  if (['', '0', 'false', 'no'].includes(said.toLowerCase())) return false;
  if (['1', 'true', 'yes'].includes(said.toLowerCase())) return true;
  throw new Failure('usage', `HOLDFAST_REDIS_CLUSTER: expected 1 or 0, got ${quote(said)}`);
}

/**
 * One address: a server, or a primary that sentinels find. Several: a quorum, or nodes of a cluster. `source` is the option that
 * gave `redis`, for messages.
 */
export function resolveAddresses(
  flags: ServerFlags,
  environment: Environment,
  source = '--redis',
): Address[] {
  if (flags.cluster === true && flags.sentinel !== undefined) {
    throw new Failure('usage', 'expected --cluster or --sentinel, got both');
  }
  if (flags.sentinel !== undefined) return [sentinelAddress(flags, environment)];
  if (flags.sentinelName !== undefined) {
    throw new Failure('usage', '--sentinel-name: expected --sentinel with it, got none');
  }
  const urls = resolveUrls(flags, environment, source);
  refuseUnusedTls(flags, urls.some(isSecure));
  const tls = readTlsOptions(flags);
  const addresses = urls.map((url) => serverAddress(url, tls, environment));
  const twice = addresses.find(({ label }, index) => addresses.findIndex((a) => a.label === label) !== index);
  if (twice !== undefined) {
    throw new Failure('usage', `expected servers that differ, got ${twice.label} twice`);
  }
  const unfit = isCluster(flags, environment) ? addresses.find(isNoNode) : undefined;
  if (unfit !== undefined) {
    throw new Failure('usage', `--cluster: expected a host and a port, and database 0, got ${unfit.label}`);
  }
  return addresses;
}

/** Those on the command line, or else those in the environment. */
export function resolveUrls(
  { redis }: ServerFlags,
  environment: Environment,
  source = '--redis',
): ServerUrl[] {
  if (redis !== undefined) return parseAll(redis, source);
  // An empty variable says nothing, as one that is not there.
  const own = listOf(environment['HOLDFAST_REDIS_URL']);
  const variable = own.length === 0 ? 'REDIS_URL' : 'HOLDFAST_REDIS_URL';
  const urls = own.length === 0 ? listOf(environment['REDIS_URL']) : own;
  return parseAll(urls.length === 0 ? [DEFAULT_URL] : urls, variable);
}

export function parseAll(texts: readonly string[], source: string): ServerUrl[] {
  return texts.map((text, at) => {
    const which = texts.length === 1 ? '' : ` (${at + 1} of ${texts.length})`;
    return parseServerUrl(text, `${source}${which}`);
  });
}

function isNoNode({ options: { path, db = 0 } }: Address): boolean {
  return path !== undefined || db !== 0;
}

/** A comma may be part of a password: it only separates where another URL begins behind it. */
export function listOf(text: string | undefined): string[] {
  const list = (text ?? '').replaceAll(/^[\s,]+|[\s,]+$/g, '');
  return list === '' ? [] : list.split(/[\s,]+(?=[a-z][a-z0-9+.-]*:\/\/)/i);
}

const isSecure = ({ scheme }: ServerUrl): boolean => scheme === 'rediss' || scheme === 'valkeys';

/** Whoever asks for a certificate to be checked must not be connected without TLS. */
function refuseUnusedTls(flags: ServerFlags, hasTls: boolean): void {
  const used = usedTlsFlag(flags);
  if (used !== null && !hasTls) {
    throw new Failure('usage', `${used}: expected a server with TLS, as rediss://host:port, got none`);
  }
}

function serverAddress(url: ServerUrl, secure: TlsOptions, environment: Environment): Address {
  const login = loginOf(url, environment);
  if (url.scheme === 'unix') {
    return { label: `unix://${url.path}`, options: { path: url.path, ...login } };
  }
  const host = url.host || DEFAULT_HOST;
  const port = url.port ?? PORT_DEFAULT;
  const name = isIP(host) === 0 ? { servername: host } : {};
  const tls = isSecure(url) ? { tls: { ...name, ...secure } } : {};
  const shownHost = isIPv6(host) ? `[${host}]` : host;
  const label = `${url.scheme}://${shownHost}:${port}${url.db === 0 ? '' : `/${url.db}`}`;
  return { label, options: { host, port, db: url.db, ...login, ...tls } };
}

function sentinelAddress(flags: ServerFlags, environment: Environment): Address {
  const { sentinel = [], sentinelName: name, redis } = flags;
  if (name === undefined) {
    throw new Failure(
      'usage',
      '--sentinel: expected --sentinel-name, the name of the primary, with it; got none',
    );
  }
  if (redis !== undefined) {
    throw new Failure('usage', 'expected --redis or --sentinel, got both');
  }
  const texts = sentinel.map((text) => (text.includes('://') ? text : `redis://${text}`));
  if (sentinel.some((text) => text.includes('@') && !text.includes('://'))) {
    // Its text is not repeated: a part of it is a password.
    throw new Failure(
      'usage',
      '--sentinel: expected host:port, or redis://user:password@host:port with a login; got an @ without redis:// before it',
    );
  }
  const urls = parseAll(texts, '--sentinel');
  if (urls.some((url) => isSecure(url) || url.scheme === 'unix')) {
    throw new Failure('usage', '--sentinel: expected host:port of a sentinel without TLS, got another kind');
  }
  refuseUnusedTls(flags, false);
  const sentinels = urls.map(({ host, port }) => ({
    host: host || DEFAULT_HOST,
    port: port ?? SENTINEL_PORT_DEFAULT,
  }));
  const own = urls.find(({ username, password }) => username !== null || password !== null);
  const { username, password } = own === undefined ? {} : loginOf(own, {});
  const sentinelLogin = {
    ...(username === undefined ? {} : { sentinelUsername: username }),
    ...(password === undefined ? {} : { sentinelPassword: password }),
  };
  const label = `${quote(name)} by sentinel ${sentinels.map(({ host, port }) => `${host}:${port}`).join(', ')}`;
  return { label, options: { sentinels, name, ...sentinelLogin, ...environmentLogin(environment) } };
}

interface Login {
  readonly username?: string;
  readonly password?: string;
}

/** For programs that are only given URLs: with the login of the environment in it where it has none. */
export function withLogin(url: ServerUrl, environment: Environment): ServerUrl {
  const { username = null, password = null } = loginOf(url, environment);
  return { ...url, username, password };
}

/** The URL goes before the environment. A user without any password logs in with an empty one, as `nopass` wants it. */
function loginOf({ username, password }: ServerUrl, environment: Environment): Login {
  if (username === null && password === null) return environmentLogin(environment);
  if (username === null) return { password: password ?? '' };
  return { username, password: password ?? environment['HOLDFAST_REDIS_PASSWORD'] ?? '' };
}

/** For those who keep passwords out of URLs, and for the primary behind sentinels. */
function environmentLogin(environment: Environment): Login {
  const { HOLDFAST_REDIS_USERNAME: username = '', HOLDFAST_REDIS_PASSWORD: password = '' } = environment;
  if (username !== '') return { username, password };
  return password === '' ? {} : { password };
}
