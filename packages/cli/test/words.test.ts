/** How the words of a command line are read, and how things are shown. */
import { describe, expect, test } from 'vitest';
import { run } from '../src/commands/run.ts';
import { formatDuration, parseDurationMs } from '../src/duration.ts';
import { toFailure } from '../src/failure.ts';
import { resolveAddresses, type ServerFlags } from '../src/servers/address.ts';

describe('a duration', () => {
  test.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['30', null],
    ['-1s', null],
    ['1 s', null],
    ['s', null],
    ['1w', null],
  ])('%s is read as %s', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  test.each([
    [0, '0ms'],
    [999, '999ms'],
    [4_299, '4.2s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [200_000, '3m 20s'],
    [7_500_000, '2h 5m'],
    [90_000_000, '1d 1h'],
  ])('of %s ms is shown as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});

describe('an address', () => {
  const resolve = (flags: ServerFlags, environment: Record<string, string> = {}) =>
    resolveAddresses(flags, environment);

  test('is the default when nothing is said, then REDIS_URL, HOLDFAST_REDIS_URL and --redis', () => {
    const environment = { REDIS_URL: 'redis://b', HOLDFAST_REDIS_URL: 'redis://c, redis://d:7000' };
    const labels = (flags: ServerFlags, env: Record<string, string>) =>
      resolve(flags, env).map(({ label }) => label);
    expect(labels({}, {})).toEqual(['redis://127.0.0.1:6379']);
    expect(labels({}, { REDIS_URL: 'redis://b' })).toEqual(['redis://b:6379']);
    expect(labels({}, environment)).toEqual(['redis://c:6379', 'redis://d:7000']);
    expect(labels({ redis: ['redis://a'] }, environment)).toEqual(['redis://a:6379']);
  });

  test.each([
    ['redis://host/3', { host: 'host', port: 6379, db: 3 }],
    [
      'rediss://us%40er:p%3Ass@host:1',
      { host: 'host', port: 1, username: 'us@er', password: 'p:ss', tls: { servername: 'host' } },
    ],
    ['rediss://10.0.0.1', { host: '10.0.0.1', tls: {} }],
    ['redis://[::1]:7000', { host: '::1', port: 7000 }],
    ['valkey://:pass@host', { host: 'host', password: 'pass' }],
    ['unix:///run/redis.sock', { path: '/run/redis.sock' }],
    ['unix:///run/user@1000/redis.sock', { path: '/run/user@1000/redis.sock' }],
    ['unix://me:p:ss@/run/redis.sock', { path: '/run/redis.sock', username: 'me', password: 'p:ss' }],
    ['redis://bob@host', { host: 'host', username: 'bob', password: '' }],
    ['redis://bob:p:ss,x/y@z#?@host:1/2', { host: 'host', port: 1, db: 2, password: 'p:ss,x/y@z#?' }],
    ['redis://MY_host.Example:1', { host: 'my_host.example' }],
  ])('%s is read with all its parts, and shown without a password', (url, options) => {
    const [address] = resolve({ redis: [url] });
    expect(address?.options).toMatchObject(options);
    expect(address?.label).not.toMatch(/p%3Ass|p:ss|:pass/);
  });

  test('takes a password from the environment when the URL has none', () => {
    const environment = { HOLDFAST_REDIS_USERNAME: 'u', HOLDFAST_REDIS_PASSWORD: 'p' };
    expect(resolve({ redis: ['redis://a'] }, environment)[0]?.options).toMatchObject({
      username: 'u',
      password: 'p',
    });
    expect(resolve({ redis: ['redis://:own@a'] }, environment)[0]?.options).toMatchObject({
      password: 'own',
    });
  });

  test.each([
    [
      { HOLDFAST_REDIS_URL: 'redis://me:hunter2,x@a,redis://b  redis://:y,@c:1,' },
      ['hunter2,x', undefined, 'y,'],
    ],
    [{ HOLDFAST_REDIS_URL: ' redis://bob@a\n', HOLDFAST_REDIS_PASSWORD: 'p' }, ['p']],
    [{ REDIS_URL: 'redis://a', HOLDFAST_REDIS_USERNAME: 'u' }, ['']],
  ])('of %j is parted where another URL begins, and nowhere else', (environment, passwords) => {
    expect(resolve({}, environment).map(({ options }) => options.password)).toEqual(passwords);
  });

  test('of sentinels has their own login and that of the primary', () => {
    const flags = { sentinel: ['redis://:s@a:1', 'b'], sentinelName: 'shop' };
    expect(resolve(flags, { HOLDFAST_REDIS_PASSWORD: 'p' })[0]?.options).toEqual({
      sentinels: [
        { host: 'a', port: 1 },
        { host: 'b', port: 26379 },
      ],
      name: 'shop',
      sentinelPassword: 's',
      password: 'p',
    });
  });

  test.each([
    [{ redis: ['redis://a', 'redis://a:6379'] }, /expected servers that differ, got redis:\/\/a:6379 twice/],
    [{ redis: ['redis://a/b'] }, /^--redis: expected the number of a database after the port/],
    [
      { redis: ['redis://a', 'a:b'] },
      /^--redis \(2 of 2\): expected a URL such as .*, got something without/,
    ],
    [{ redis: ['http://user:secret@a'] }, /expected a URL such as .*, got another scheme/],
    [{ redis: ['redis://a:0'] }, /expected a port from 1 to 65535/],
    [{ redis: ['redis://::1'] }, /expected a host|expected a port|IPv6 in brackets/],
    [{ redis: ['redis://a b'] }, /expected the name or the IP address of a host/],
    [{ redis: ['redis://a?db=1'] }, /expected nothing after the number of the database, got a \? or a #/],
    [{ sentinel: ['rediss://a'], sentinelName: 'a' }, /a sentinel without TLS, got another kind/],
    [{ redis: ['redis://a'], ca: '/ca.pem' }, /^--ca: expected a server with TLS, as rediss:/],
    [{ redis: ['redis://a'], insecure: true }, /^--insecure: expected a server with TLS/],
    [{ redis: ['rediss://a'], cert: '/cert.pem' }, /^--cert: expected --key with it/],
    [{ redis: ['rediss://a'], key: '/key.pem' }, /^--key: expected --cert with it/],
    [{ redis: ['rediss://a'], ca: '/nowhere.pem' }, /^--ca: "\/nowhere\.pem": there is no such file/],
    [
      { redis: ['rediss://a'], ca: '/etc/hostname' },
      /^--ca: "\/etc\/hostname": expected certificates in PEM form/,
    ],
    [{ sentinel: ['a'] }, /expected --sentinel-name/],
    [{ sentinelName: 'a' }, /expected --sentinel with it/],
    [
      { sentinel: ['a'], sentinelName: 'a', redis: ['redis://a'] },
      /expected --redis or --sentinel, got both/,
    ],
    [{ cluster: true, sentinel: ['a'], sentinelName: 'a' }, /expected --cluster or --sentinel, got both/],
    [
      { cluster: true, redis: ['redis://a/3'] },
      /expected a host and a port, and database 0, got redis:\/\/a:6379\/3/,
    ],
    [{ cluster: true, redis: ['unix:///run/redis.sock'] }, /expected a host and a port/],
  ])('%j is refused', (flags: ServerFlags, said) => {
    expect(() => resolve(flags)).toThrow(said);
  });
});

test.each([
  [{ lease: 10 }, /--lease: expected at least 1\.0s, got 10ms/],
  [{ lease: 2_000, grace: 1_500 }, /--grace: expected at most 750ms with a lease of 2\.0s/],
])('run refuses %j with the code for usage', async (flags, said) => {
  const error = await run('job', ['true'], { onBusyExit: 75, ...flags }).catch(toFailure);
  expect(error).toMatchObject({ exitCode: 64, message: expect.stringMatching(said) });
});

describe('a failure', () => {
  test.each([
    ['ELOCKTIMEOUT', 'x', 75],
    ['ELOCKLOST', 'x', 79],
    ['ELOCKUNKNOWN', 'x', 69],
    ['ELOCKUNAVAILABLE', 'x', 69],
    ['ELOCKUNAVAILABLE', 'admin.scan: reply, NOPERM this user has no permissions', 77],
    ['ELOCKCONFLICT', 'x', 65],
    ['ELOCKCONFIG', 'x', 64],
    ['ENOENT', 'x', 70],
  ])('with the code %s (%s) exits with %i', (code, message, exitCode) => {
    expect(toFailure(Object.assign(new Error(message), { code })).exitCode).toBe(exitCode);
  });
});
