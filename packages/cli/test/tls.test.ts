/** Servers with TLS: whom we trust, what we show, and what is said where TLS meets none. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  makeGuardedFolder,
  removeGuardedFolder,
} from '../../holdfast/test/support/processes/process-guard.ts';
import { freePort } from '../../holdfast/test/support/servers/free-port.ts';
import { type RedisServer, startRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { holdfast, type Ran } from './support/holdfast.ts';

let folder = '';
/** Asks for no certificate; asks for one. */
let open: RedisServer;
let mutual: RedisServer;
let openPort = 0;
let mutualPort = 0;

const path = (name: string): string => join(folder, name);

/** A key with a certificate that it has signed itself. */
function makeCertificate(name: string): void {
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const files = ['-nodes', '-keyout', path(`${name}.key`), '-out', path(`${name}.pem`)];
  const how = ['-newkey', 'rsa:2048', ...files, ...subject];
  execFileSync('openssl', ['req', '-x509', '-days', '1', ...how], { stdio: 'ignore' });
}

async function startWithTls(port: number, ...args: readonly string[]): Promise<RedisServer> {
  const files = ['--tls-cert-file', path('server.pem'), '--tls-key-file', path('server.key')];
  return await startRedis({ args: ['--tls-port', String(port), ...files, ...args] });
}

beforeAll(async () => {
  folder = makeGuardedFolder('holdfast-tls-');
  for (const name of ['server', 'client', 'stranger']) makeCertificate(name);
  openPort = await freePort();
  open = await startWithTls(openPort, '--tls-auth-clients', 'no');
  mutualPort = await freePort();
  mutual = await startWithTls(mutualPort, '--tls-ca-cert-file', path('client.pem'));
});

afterAll(async () => {
  await Promise.all([open?.stop(), mutual?.stop()]);
  removeGuardedFolder(folder);
});

const JOB = ['job', '--', 'echo', 'on'];

function run(port: number, ...args: readonly string[]): Promise<Ran> {
  return holdfast(['run', '--redis', `rediss://localhost:${port}`, ...args, ...JOB]);
}

const on = { code: 0, stdout: 'on\n', stderr: '' };

describe('a server with TLS', () => {
  test('is trusted by --ca, and not without', async () => {
    expect(await run(openPort, '--ca', path('server.pem'))).toMatchObject(on);
    for (const args of [[], ['--ca', path('stranger.pem')]]) {
      const ran = await run(openPort, ...args);
      expect(ran).toMatchObject({ code: 77, stdout: '' });
      expect(ran.stderr).toMatch(
        /^holdfast: rediss:\S+: the certificate of the server is not trusted: .*; see --ca, or --insecure .*\n$/,
      );
    }
  });

  test('is trusted by the authorities that Node is given', async () => {
    const args = ['run', '--redis', `rediss://localhost:${openPort}`, ...JOB];
    expect(await holdfast(args, { env: { NODE_EXTRA_CA_CERTS: path('server.pem') } })).toMatchObject(on);
  });

  test('is not checked with --insecure, which is warned of', async () => {
    expect(await run(openPort, '--insecure')).toMatchObject({
      ...on,
      stderr: 'holdfast: warning: --insecure: anybody on the way may pose as the server\n',
    });
  });

  test('that wants a certificate gets the one of --cert and --key', async () => {
    const ca = ['--ca', path('server.pem')];
    const own = ['--cert', path('client.pem'), '--key', path('client.key')];
    expect(await run(mutualPort, ...ca, ...own)).toMatchObject(on);
    const stranger = ['--cert', path('stranger.pem'), '--key', path('stranger.key')];
    for (const args of [ca, [...ca, ...stranger]]) {
      const ran = await run(mutualPort, ...args);
      expect(ran.stderr).toMatch(
        /the server wants a certificate from us that it trusts: see --cert and --key\n$/,
      );
      expect(ran).toMatchObject({ code: 77, stdout: '' });
    }
  });

  test.each([
    ['that asks for no certificate', () => openPort],
    ['that asks for one', () => mutualPort],
  ])('%s is told from no Redis where redis:// meets it', async (_what, port) => {
    const ran = await holdfast(['run', '--redis', `redis://localhost:${port()}`, ...JOB]);
    expect(ran.stderr).toMatch(/: the server speaks TLS: use rediss:\/\/ in place of redis:\/\/\n$/);
    expect(ran).toMatchObject({ code: 76, stdout: '' });
  });
});

describe('a file', () => {
  test.each([
    ['that is none', ['--ca', 'nowhere.pem'], /^holdfast: --ca: ".*nowhere\.pem": there is no such file\n$/],
    ['that is a folder', ['--ca', '.'], /^holdfast: --ca: ".*": it cannot be read\n$/],
    ['that is a key', ['--ca', 'server.key'], /^holdfast: --ca: .* expected certificates in PEM form, got/],
    [
      'that is no key',
      ['--cert', 'client.pem', '--key', 'client.pem'],
      /^holdfast: --key: .* expected a private key in PEM form, not encrypted, got something else\n$/,
    ],
    [
      'with the key of another certificate',
      ['--cert', 'client.pem', '--key', 'stranger.key'],
      /^holdfast: --key: expected the key of the certificate in --cert, got another one\n$/,
    ],
  ])('%s is told before anything is connected', async (_what, args, said) => {
    const files = args.map((word) => (word.startsWith('--') ? word : path(word)));
    const ran = await run(1, ...files);
    expect(ran.stderr).toMatch(said);
    expect(ran).toMatchObject({ code: 64, stdout: '' });
  });
});
