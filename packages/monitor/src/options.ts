/** What `createMonitor` may be told, checked before anything is connected. */
import type { SettingsHolder } from './alerts/index.ts';
import type { Authorize, Login } from './http/auth.ts';
import { GROUPS_MAX } from './sampling/locks/groups.ts';
import type { Reloadable } from './sampling/sampler.ts';
import type { MonitorRedis } from './sampling/servers/clients.ts';

export interface MonitorOptions {
  /**
   * The servers to watch, as for `new Locks`: a client of ioredis, a `Cluster`, or several clients for a quorum. Only their
   * settings are used. A user that can only read is enough.
   */
  readonly redis: MonitorRedis;
  /** The same servers by a user that may write: for actions, the audit trail and the state of alerts. @default `redis` */
  readonly writer?: MonitorRedis;
  /** The name of this fleet of servers, for alerts and metrics. @default 'default' */
  readonly fleet?: string;
  /** The `prefix` of the programs' `Locks`. @default '' */
  readonly prefix?: string;
  /** Patterns of names under which strings of other libraries are shown as mutexes, such as `cache:*`. @default none */
  readonly mutexes?: readonly string[];
  /**
   * Patterns of names, such as `order:*`: `/metrics` then has the label `group` on the figures of locks, with the first
   * pattern that fits, or `_other_`. At most 100. @default none
   */
  readonly groups?: readonly string[];
  /** How much of the usual pace to read at, from 0.1 to 1. @default 1 */
  readonly budget?: number;
  /** Bytes that a server without maxmemory may use. @default the memory of its host */
  readonly memoryLimit?: number;
  /** Where the handler is mounted, with a slash at both ends. @default '/' */
  readonly basePath?: string;
  /** Who may see, and who may act. Without it and without a login only this machine may see, and nobody may act. */
  readonly authorize?: Authorize;
  /** A login by token. */
  readonly token?: string;
  /** A login by user and password. */
  readonly login?: { readonly user: string; readonly password: string };
  /** Switches on release by force, silences and acknowledgements, for those who are logged in. @default false */
  readonly actions?: boolean;
  /** False: actions are done without a trace. For the emergency in which the trail cannot be written. @default true */
  readonly audit?: boolean;
  /**
   * Rules and receivers, as `loadConfig` reads them from a file: `new SettingsHolder(loadConfig('monitor.json'))`. Without
   * them nothing is judged. They say the fleet, the mutexes, the groups and the memory limit too, unless these options do.
   */
  readonly settings?: SettingsHolder;
  /** The folder of the built page; null for none. @default the page of this package */
  readonly pageFolder?: string | null;
  /** One line for the operator's log. Never has a secret. @default nothing */
  readonly log?: (line: string) => void;
  /** Ended holds that are remembered. @default 500_000 */
  readonly holdsMax?: number;
  /** Locks that are known of each server; further ones are counted and not shown. @default 100_000 */
  readonly locksMax?: number;
}

const KNOWN = new Set<string>([
  ...[
    'redis',
    'writer',
    'fleet',
    'prefix',
    'mutexes',
    'groups',
    'budget',
    'memoryLimit',
    'basePath',
    'authorize',
    'token',
  ],
  ...['login', 'actions', 'audit', 'settings', 'pageFolder', 'log', 'holdsMax', 'locksMax'],
]);

/** Short ones are guessed. */
const SECRET_LENGTH_MIN = 12;

export interface CheckedOptions extends Omit<MonitorOptions, 'mutexes' | 'groups' | 'memoryLimit' | 'login'> {
  /** As the options say, or else the settings in force now. */
  readonly reloadable: () => Reloadable;
  readonly fleet: string;
  readonly prefix: string;
  readonly budget: number;
  readonly basePath: string;
  readonly actions: boolean;
  readonly audit: boolean;
  readonly login: Login;
}

export function checkOptions(options: MonitorOptions): CheckedOptions {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`expected the options of createMonitor to be an object, got ${typeof options}`);
  }
  const unknown = Object.keys(options).find((key) => !KNOWN.has(key));
  if (unknown !== undefined) {
    throw new TypeError(`expected an option among ${[...KNOWN].join(', ')}, got ${JSON.stringify(unknown)}`);
  }
  const {
    fleet = options.settings?.current.fleet ?? 'default',
    prefix = '',
    budget = 1,
    basePath = '/',
    actions = false,
    audit = true,
  } = options;
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(fleet)) {
    throw new TypeError(
      `expected fleet to be 1 to 64 letters, digits, dots and dashes, got ${JSON.stringify(fleet)}`,
    );
  }
  const configured = options.settings?.current.fleet ?? fleet;
  if (configured !== fleet) {
    throw new TypeError(`expected fleet to be that of the settings, ${configured}, got ${fleet}`);
  }
  for (const name of ['locksMax', 'holdsMax', 'memoryLimit'] as const) {
    const { [name]: count = 1 } = options;
    if (Number.isSafeInteger(count) && count >= 1) continue;
    throw new TypeError(`expected ${name} to be a whole number of at least 1, got ${String(count)}`);
  }
  if (!(budget >= 0.1 && budget <= 1)) throw new TypeError(`expected budget from 0.1 to 1, got ${budget}`);
  if (!/^\/([\w.~-]+\/)*$/.test(basePath)) {
    throw new TypeError(
      `expected basePath with a slash at both ends, such as /locks/, got ${JSON.stringify(basePath)}`,
    );
  }
  const login = loginOf(options);
  if (actions && login.kind === 'none') {
    throw new TypeError(
      'expected a token, a login or authorize with actions, got none: nobody could be told apart',
    );
  }
  checkKinds(options);
  checkGroups(options.groups ?? []);
  const reloadable = (): Reloadable => reloadableOf(options);
  return { ...options, reloadable, fleet, prefix, budget, basePath, actions, audit, login };
}

function reloadableOf({ mutexes, groups, memoryLimit, settings }: MonitorOptions): Reloadable {
  const said = settings?.current;
  return {
    mutexes: mutexes ?? said?.mutexes ?? [],
    groups: groups ?? said?.groups ?? [],
    memoryLimit: memoryLimit ?? said?.memoryLimitBytes ?? null,
  };
}

/** What each of them must be, where nothing more is asked of it. */
const KINDS = {
  prefix: 'string',
  actions: 'boolean',
  audit: 'boolean',
  authorize: 'function',
  log: 'function',
} as const;

function checkKinds(options: MonitorOptions): void {
  for (const [name, kind] of Object.entries(KINDS)) {
    const value: unknown = options[name as keyof typeof KINDS];
    if (value !== undefined && typeof value !== kind)
      throw new TypeError(`expected ${name} to be a ${kind}, got ${typeof value}`);
  }
  const mutexes: unknown = options.mutexes ?? [];
  if (!Array.isArray(mutexes) || !mutexes.every((pattern) => typeof pattern === 'string'))
    throw new TypeError('expected mutexes to be a list of patterns such as "cache:*"');
}

function checkGroups(groups: unknown): void {
  const isGood =
    Array.isArray(groups) && groups.every((pattern) => typeof pattern === 'string' && pattern !== '');
  if (!isGood) throw new TypeError('expected groups to be a list of patterns such as "order:*"');
  if (groups.length > GROUPS_MAX) {
    throw new TypeError(`expected groups with at most ${GROUPS_MAX} patterns, got ${groups.length}`);
  }
}

function loginOf({ authorize, token, login }: MonitorOptions): Login {
  const given = [authorize, token, login].filter((one) => one !== undefined);
  if (given.length > 1) throw new TypeError('expected one of authorize, token and login, got several');
  if (authorize !== undefined) return { kind: 'authorize', authorize };
  if (token !== undefined) return { kind: 'token', token: checkSecret(token, 'token') };
  if (login === undefined) return { kind: 'none' };
  if (login.user === '' || login.user.includes(':')) {
    throw new TypeError('expected the user of login without a colon, and not empty');
  }
  return {
    kind: 'password',
    user: login.user,
    password: checkSecret(login.password, 'the password of login'),
  };
}

function checkSecret(secret: string, what: string): string {
  if (typeof secret === 'string' && secret.length >= SECRET_LENGTH_MIN) return secret;
  throw new TypeError(`expected ${what} to have at least ${SECRET_LENGTH_MIN} characters, got fewer`);
}
