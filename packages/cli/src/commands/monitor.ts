/** `holdfast monitor`: the live page, metrics and alerts, until a signal ends it. */
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { isIPv6 } from 'node:net';
import type { AuditTrail, MonitorOptions, SettingsHolder } from 'holdfast-monitor';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { type ReloadTerms, reload } from '../monitor/reload.ts';
import { writerClients } from '../monitor/writer.ts';
import { printJson, printLines, printNotice } from '../output.ts';
import { quote } from '../printable.ts';
import type { ServerFlags } from '../servers/address.ts';
import { unopenedClients } from '../servers/unopened.ts';

export interface MonitorFlags extends ServerFlags {
  readonly prefix?: string;
  readonly json?: boolean;
  readonly host: string;
  readonly port: number;
  readonly config?: string;
  readonly checkConfig?: boolean;
  readonly prometheusRules?: boolean;
  readonly fleet?: string;
  readonly user?: string;
  readonly tokenFile?: string;
  readonly passwordFile?: string;
  readonly writer?: readonly string[];
  readonly budget: number;
  readonly actions?: boolean;
  readonly audit: boolean;
  readonly trustProxy?: boolean;
}

type Library = typeof import('holdfast-monitor');

export async function monitor(flags: MonitorFlags): Promise<number> {
  checkNames(flags);
  const library = await import('holdfast-monitor');
  const settings = readSettings(library, flags);
  if (flags.checkConfig === true) {
    if (flags.config === undefined)
      throw new Failure('usage', '--check-config: expected --config with it, got none');
    printLines([`${flags.config}: good`]);
    return EXIT.ok;
  }
  if (flags.prometheusRules === true) {
    process.stdout.write(library.prometheusRules(settings?.current));
    return EXIT.ok;
  }
  return run(library, flags, settings);
}

/** The names that the library would refuse as a mistake of a program. */
function checkNames({ fleet, user }: MonitorFlags): void {
  if (fleet !== undefined && !/^[A-Za-z0-9._-]{1,64}$/.test(fleet)) {
    const expected = 'expected 1 to 64 letters, digits, dots, dashes and underscores';
    throw new Failure('usage', `--fleet: ${expected}, got ${quote(fleet)}`);
  }
  if (user === '' || user?.includes(':')) {
    throw new Failure('usage', `--user: expected a name without a colon, and not empty, got ${quote(user)}`);
  }
}

function readSettings(library: Library, { config, fleet }: MonitorFlags): SettingsHolder | null {
  if (config === undefined) return null;
  try {
    const settings = library.loadConfig(config, fleet);
    if (fleet === undefined || fleet === settings.fleet) return new library.SettingsHolder(settings);
    throw new Failure('usage', `--fleet ${fleet}: expected the fleet of ${config}, ${settings.fleet}`);
  } catch (error) {
    if (error instanceof library.ConfigError)
      throw new Failure('usage', error.message.replaceAll('\n', '; '));
    throw error;
  }
}

async function run(library: Library, flags: MonitorFlags, settings: SettingsHolder | null): Promise<number> {
  const login = readLogin(flags);
  refuseUnguarded(flags, login);
  const redis = unopenedClients(flags);
  const writer = writerClients(flags, redis) ?? redis;
  if (!flags.audit)
    printNotice('warning: --no-audit: what is done from the page and by SIGHUP is written down nowhere');
  const running = library.createMonitor({
    redis,
    writer,
    ...login,
    ...(flags.fleet === undefined ? {} : { fleet: flags.fleet }),
    ...(settings === null ? {} : { settings }),
    prefix: flags.prefix ?? '',
    budget: flags.budget / 100,
    actions: flags.actions === true,
    audit: flags.audit,
    log: printNotice,
  });
  const server = library.createMonitorServer(running, { trustProxy: flags.trustProxy === true });
  const { config } = flags;
  const trail = flags.audit ? reloadTrail(library, writer) : null;
  // Signals are listened for before the address is printed: from then on one may come, and SIGHUP ends a process without a listener.
  const ended = untilSignal(config === undefined || settings === null ? null : { config, settings, trail });
  try {
    await listen(server, flags);
    const url = urlOf(server, flags.host);
    if (flags.json) printJson({ url });
    else printLines([`the monitor is at ${url}`]);
    return await ended;
  } finally {
    server.closeAllConnections();
    server.close();
    await running.close();
    // The trail of reloads has connected it; an open connection would keep the process alive.
    for (const client of [writer].flat()) client.disconnect();
  }
}

/** Where a reload is written down. */
function reloadTrail(library: Library, writer: MonitorOptions['redis']): AuditTrail {
  const clients = Array.isArray(writer) ? writer : [writer];
  return new library.AuditTrail(clients as ConstructorParameters<typeof library.AuditTrail>[0]);
}

type LoginOptions = Pick<MonitorOptions, 'token' | 'login'>;

/** Secrets come from files and the environment: the command line is seen by every user of the machine. */
function readLogin(flags: MonitorFlags): LoginOptions {
  const { HOLDFAST_MONITOR_TOKEN: token = '', HOLDFAST_MONITOR_PASSWORD: password = '' } = process.env;
  if (flags.user !== undefined) {
    if (flags.tokenFile !== undefined)
      throw new Failure('usage', 'expected --token-file or --user, got both');
    const known =
      flags.passwordFile === undefined ? password : readSecret(flags.passwordFile, '--password-file');
    if (known === '') {
      throw new Failure(
        'usage',
        '--user: expected --password-file or HOLDFAST_MONITOR_PASSWORD with it, got none',
      );
    }
    return { login: { user: flags.user, password: checkLength(known, 'the password') } };
  }
  if (flags.passwordFile !== undefined) {
    throw new Failure('usage', '--password-file: expected --user with it, got none');
  }
  const found = flags.tokenFile === undefined ? token : readSecret(flags.tokenFile, '--token-file');
  return found === '' ? {} : { token: checkLength(found, 'the token') };
}

const SECRET_LENGTH_MIN = 12;

function checkLength(secret: string, what: string): string {
  if (secret.length >= SECRET_LENGTH_MIN) return secret;
  throw new Failure(
    'usage',
    `expected ${what} to have at least ${SECRET_LENGTH_MIN} characters, got ${secret.length}`,
  );
}

function readSecret(path: string, option: string): string {
  try {
    const secret = readFileSync(path, 'utf8').trim();
    if (secret !== '') return secret;
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new Failure('usage', `${option}: expected a file that can be read, got ${code}`);
  }
  throw new Failure('usage', `${option}: expected a file with a secret in it, got an empty one`);
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

function refuseUnguarded({ host, actions }: MonitorFlags, login: LoginOptions): void {
  const isGuarded = login.token !== undefined || login.login !== undefined;
  if (isGuarded) return;
  const how = 'a login with it (--token-file, HOLDFAST_MONITOR_TOKEN, or --user and --password-file)';
  if (!LOOPBACK.test(host)) throw new Failure('usage', `--host ${host}: expected ${how}, got none`);
  if (actions === true) throw new Failure('usage', `--actions: expected ${how}, got none`);
}

function listen(server: Server, { host, port }: MonitorFlags): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'something listens there already' : error.message;
      reject(new Failure('usage', `${host}:${port}: ${why}`));
    });
    server.listen(port, host, resolve);
  });
}

function urlOf(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}/`;
}

/** Resolves at a signal that ends the monitor. Until then SIGHUP reads the configuration again, one signal after the other. */
function untilSignal(terms: ReloadTerms | null): Promise<number> {
  return new Promise((resolve) => {
    let last = Promise.resolve();
    const onHangup = (): void => {
      if (terms !== null) last = last.then(() => reload(terms));
    };
    process.on('SIGHUP', onHangup);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        process.off('SIGHUP', onHangup);
        resolve(EXIT.ok);
      });
    }
  });
}
