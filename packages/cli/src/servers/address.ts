/** Where the servers are: read from options and the environment, checked before anything is connected. */
import { isIP } from 'node:net';
import { Failure } from '../failure.ts';

/** What the command line may say about servers. */
export interface ServerFlags {
  readonly redis?: readonly string[];
  readonly sentinel?: readonly string[];
  readonly sentinelName?: string;
  readonly cluster?: boolean;
}

/** One server as ioredis wants it, and as people read it. */
export interface Address {
  /** Without the password. */
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
  readonly tls?: { readonly servername?: string };
  readonly sentinels?: readonly { readonly host: string; readonly port: number }[];
  readonly name?: string;
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
}

const DEFAULT_URL = 'redis://127.0.0.1:6379';
const PORT_DEFAULT = 6379;
const SENTINEL_PORT_DEFAULT = 26379;
const SCHEMES = ['redis:', 'rediss:', 'valkey:', 'valkeys:', 'unix:'];

type Environment = Readonly<Record<string, string | undefined>>;

/** Whether the servers are nodes of one cluster. */
export function isCluster(flags: ServerFlags, environment: Environment): boolean {
  if (flags.cluster === true) return true;
  const said = environment['HOLDFAST_REDIS_CLUSTER'] ?? '';
  // Sentinels that were named on the command line are not overruled by what stands in the environment.
  if (flags.sentinel !== undefined) return false;
  if (['', '0', 'false', 'no'].includes(said.toLowerCase())) return false;
  if (['1', 'true', 'yes'].includes(said.toLowerCase())) return true;
  throw new Failure('usage', `HOLDFAST_REDIS_CLUSTER: expected 1 or 0, got ${JSON.stringify(said)}`);
}

/** One address: a server, or a primary that sentinels find. Several: a quorum, or nodes of a cluster. */
export function resolveAddresses(flags: ServerFlags, environment: Environment): Address[] {
  if (flags.cluster === true && flags.sentinel !== undefined) {
    throw new Failure('usage', 'expected --cluster or --sentinel, got both');
  }
  if (flags.sentinel !== undefined) return [sentinelAddress(flags, environment)];
  if (flags.sentinelName !== undefined) {
    throw new Failure('usage', '--sentinel-name: expected --sentinel with it, got none');
  }
  const urls = flags.redis ?? listOf(environment['HOLDFAST_REDIS_URL'] ?? environment['REDIS_URL']);
  const addresses = (urls.length === 0 ? [DEFAULT_URL] : urls).map((url) => serverAddress(url, environment));
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

function isNoNode({ options: { path, db = 0 } }: Address): boolean {
  return path !== undefined || db !== 0;
}

function listOf(text: string | undefined): string[] {
  return (text ?? '').split(/[\s,]+/).filter((part) => part !== '');
}

function serverAddress(text: string, environment: Environment): Address {
  const url = parseUrl(text, '--redis');
  const login = loginOf(url, environment);
  if (url.protocol === 'unix:') {
    const path = decodeURIComponent(url.pathname);
    return { label: `unix://${path}`, options: { path, ...login } };
  }
  const host = hostOf(url);
  const port = url.port === '' ? PORT_DEFAULT : Number(url.port);
  const db = databaseOf(url);
  const isSecure = url.protocol === 'rediss:' || url.protocol === 'valkeys:';
  const tls = isSecure ? { tls: isIP(host) === 0 ? { servername: host } : {} } : {};
  const label = `${url.protocol}//${url.host === '' ? host : url.hostname}:${port}${db === 0 ? '' : `/${db}`}`;
  return { label, options: { host, port, db, ...login, ...tls } };
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
  const urls = sentinel.map((text) =>
    parseUrl(text.includes('://') ? text : `redis://${text}`, '--sentinel'),
  );
  const sentinels = urls.map((url) => ({
    host: hostOf(url),
    port: url.port === '' ? SENTINEL_PORT_DEFAULT : Number(url.port),
  }));
  const own = urls.find(({ password }) => password !== '');
  const sentinelLogin =
    own === undefined
      ? {}
      : {
          ...(own.username === '' ? {} : { sentinelUsername: decodeURIComponent(own.username) }),
          sentinelPassword: decodeURIComponent(own.password),
        };
  const label = `${JSON.stringify(name)} by sentinel ${sentinels.map(({ host, port }) => `${host}:${port}`).join(', ')}`;
  return { label, options: { sentinels, name, ...sentinelLogin, ...environmentLogin(environment) } };
}

/** A wrong URL is shown without what stands before its last `@`: that may be a password. */
function parseUrl(text: string, option: string): URL {
  const shown = JSON.stringify(text.replace(/^(.*:\/\/)?.*@/, '$1…@'));
  const expected = `${option}: expected a URL such as ${DEFAULT_URL} or rediss://user:password@host:port/0`;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !SCHEMES.includes(url.protocol))
    throw new Failure('usage', `${expected}, got ${shown}`);
  return url;
}

function hostOf(url: URL): string {
  const host = decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1');
  return host === '' ? '127.0.0.1' : host;
}

function databaseOf(url: URL): number {
  const path = url.pathname.replace(/^\//, '');
  if (/^\d*$/.test(path)) return Number(path);
  throw new Failure(
    'usage',
    `--redis: expected the number of a database after the port, got ${JSON.stringify(path)}`,
  );
}

function loginOf(url: URL, environment: Environment): { username?: string; password?: string } {
  if (url.password === '') return environmentLogin(environment);
  const username = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  return username === '' ? { password } : { username, password };
}

/** For those who keep passwords out of URLs, and for the primary behind sentinels. */
function environmentLogin(environment: Environment): { username?: string; password?: string } {
  const { HOLDFAST_REDIS_USERNAME: username, HOLDFAST_REDIS_PASSWORD: password } = environment;
  if (password === undefined || password === '') return {};
  return username === undefined || username === '' ? { password } : { username, password };
}
