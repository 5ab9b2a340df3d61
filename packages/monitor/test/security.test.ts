/** Who may see and act, and what a hostile request gets. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { Auth } from '../src/http/auth.ts';
import { Lockout } from '../src/http/lockout.ts';
import { HttpError } from '../src/http/responses.ts';
import { createMonitor, createMonitorServer, type MonitorOptions } from '../src/index.ts';
import { client, closing, session, TestMonitor } from './support/monitor.ts';

const server = useRedis();

const TOKEN = 'correct horse battery';
const BEARER = { authorization: `Bearer ${TOKEN}` };

function monitor(options: Partial<MonitorOptions> = {}): TestMonitor {
  return new TestMonitor({ redis: client(server.port), ...options });
}

async function codeOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error: { code: string } };
  return `${response.status} ${error.code}`;
}

test.each([
  [{ mutexes: 'cache:*' }, 'expected mutexes to be a list of patterns'],
  [{ actions: 'no', token: TOKEN }, 'expected actions to be a boolean, got string'],
  [{ audit: 'false' }, 'expected audit to be a boolean, got string'],
  [{ authorize: { user: 'ada' } }, 'expected authorize to be a function, got object'],
  [{ prefix: 7 }, 'expected prefix to be a string, got number'],
  [{ memoryLimit: '2GB' }, 'expected memoryLimit to be a whole number of at least 1, got 2GB'],
  [{ holdsMax: -1 }, 'expected holdsMax to be a whole number of at least 1, got -1'],
])('%j is refused', (options, said) => {
  const redis = client(server.port);
  expect(() => createMonitor({ redis, ...(options as Partial<MonitorOptions>) })).toThrow(said);
});

test.each(['api/v1/alerts', 'api/v1/audit'])('%s has no page at a place that nobody gave', async (path) => {
  const seen = monitor();
  for (const before of ['x', '-', '(0', '1-1-1', '9'.repeat(40)]) {
    expect(await codeOf(await seen.get(`${path}?before=${encodeURIComponent(before)}`)), before).toBe(
      '400 bad-request',
    );
  }
});

describe('without a login', () => {
  test('only names of this machine are answered, so no page elsewhere gets in by a name of its own', async () => {
    const seen = monitor();
    for (const host of ['localhost', 'localhost:7380', '127.0.0.1:7380', '[::1]:7380']) {
      expect((await seen.get('api/v1/state', { host })).status, host).toBe(200);
    }
    for (const host of [
      'evil.example',
      '127.0.0.1.evil.example',
      'localhost.evil.example:7380',
      '10.0.0.1',
    ]) {
      expect(await codeOf(await seen.get('api/v1/state', { host })), host).toBe('403 bad-host');
      expect((await seen.get('', { host })).status, host).toBe(403);
    }
  });

  test('nobody may act, and actions cannot be switched on', async () => {
    const seen = monitor();
    expect(await codeOf(await seen.post('api/v1/release', {}))).toBe('403 actions-off');
    expect(() => createMonitor({ redis: client(server.port), actions: true })).toThrow(
      /expected a token, a login/,
    );
  });
});

describe('a token', () => {
  test('is needed for everything but the page and healthz', async () => {
    const seen = monitor({ token: TOKEN });
    for (const path of [
      'api/v1/state',
      'api/v1/stream',
      'api/v1/lock?name=a',
      'api/v1/audit',
      'api/v1/alerts',
      'metrics',
    ]) {
      expect(await codeOf(await seen.get(path)), path).toBe('401 login-needed');
    }
    expect((await seen.get('healthz')).status).toBe(200);
    expect((await seen.get('')).status).toBe(200);
    expect((await seen.get('metrics', BEARER)).status).toBe(200);
    // With a login any name may be used: the cookie and the token are what keeps others out.
    expect((await seen.get('api/v1/state', { ...BEARER, host: 'monitor.example' })).status).toBe(200);
  });

  test('too short is refused, and is in no error', () => {
    const options = { redis: client(server.port), token: 'hunter2' };
    expect(() => createMonitor(options)).toThrow('expected token to have at least 12 characters, got fewer');
  });

  test('that is wrong slows its address down, and no other', async () => {
    const seen = monitor({ token: TOKEN });
    const wrong = { authorization: 'Bearer wrong' };
    expect(await codeOf(await seen.get('api/v1/state', wrong, '10.0.0.1'))).toBe('401 wrong-login');
    const blocked = await seen.get('api/v1/state', BEARER, '10.0.0.1');
    expect(blocked.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await codeOf(blocked)).toBe('429 slow-down');
    expect((await seen.get('api/v1/state', BEARER, '10.0.0.2')).status).toBe(200);
  });
});

test('failed logins of an address double its pause up to a minute, and all together are limited', () => {
  let now = 1_000_000;
  const lockout = new Lockout(() => now);
  const pauses: number[] = [];
  for (let i = 0; i < 9; i += 1) {
    lockout.failed('a');
    pauses.push(lockout.waitMs('a'));
    now += pauses[i] ?? 0;
    expect(lockout.waitMs('a')).toBe(0);
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  lockout.succeeded('a');
  lockout.failed('a');
  expect(lockout.waitMs('a')).toBe(1_000);
  for (let i = 0; i < 20; i += 1) lockout.failed(`other ${i}`);
  expect(lockout.waitMs('somebody new')).toBeGreaterThan(0);
  now += 1_000;
  expect(lockout.waitMs('somebody new')).toBe(0);
});

describe('a browser', () => {
  const LOGIN = { user: 'ops', password: 'a long password' };

  async function loggedIn(seen: TestMonitor): Promise<{ cookie: string; csrf: string }> {
    const response = await seen.post('login', LOGIN);
    const [cookie = ''] = response.headers.getSetCookie();
    const pair = cookie.split(';')[0] ?? '';
    const { viewer } = await seen.state({ cookie: pair });
    return { cookie: pair, csrf: viewer.csrf };
  }

  test('logs in for a cookie that scripts and other sites do not get, and that ends', async () => {
    const seen = monitor({ login: LOGIN, actions: true });
    const response = await seen.post('login', LOGIN);
    const [cookie = ''] = response.headers.getSetCookie();
    expect(cookie).toMatch(/^holdfast_monitor=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    const secure = await seen.monitor.handle(
      new Request('https://localhost/login', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(LOGIN),
      }),
    );
    expect(secure.headers.getSetCookie()[0]).toMatch(/; Secure$/);
    const pair = cookie.split(';')[0] ?? '';
    expect((await seen.state({ cookie: pair })).viewer).toMatchObject({ user: 'ops', mayAct: true });
    await seen.post('logout', {}, { cookie: pair });
    expect(await codeOf(await seen.get('api/v1/state', { cookie: pair }))).toBe('401 login-needed');
    expect(await codeOf(await seen.post('login', { ...LOGIN, user: 'opp' }))).toBe('401 wrong-login');
  });

  test('whose cookie is used by another page cannot act', async () => {
    const seen = monitor({ login: LOGIN, actions: true });
    const { cookie, csrf } = await loggedIn(seen);
    const release = { name: 'a', holder: 'b', fence: null, reason: 'c' };
    const send = (headers: Record<string, string>, body: unknown = release) =>
      seen.post('api/v1/release', body, { cookie, ...headers });
    expect(await codeOf(await send({}))).toBe('403 bad-origin');
    expect(await codeOf(await send({ 'x-holdfast-csrf': 'guessed' }))).toBe('403 bad-origin');
    expect(await codeOf(await send({ 'x-holdfast-csrf': csrf, origin: 'http://evil.example' }))).toBe(
      '403 bad-origin',
    );
    expect(await codeOf(await send({ 'x-holdfast-csrf': csrf, origin: 'null' }))).toBe('403 bad-origin');
    expect(await codeOf(await send({ 'x-holdfast-csrf': csrf, 'content-type': 'text/plain' }))).toBe(
      '400 bad-request',
    );
    expect(await codeOf(await send({ 'x-holdfast-csrf': csrf }))).toBe('404 not-held');
    expect(await codeOf(await seen.post('login', LOGIN, { origin: 'http://evil.example' }))).toBe(
      '403 bad-origin',
    );
  });

  test('finds actions switched off unless they were switched on', async () => {
    const seen = monitor({ login: LOGIN });
    const { cookie, csrf } = await loggedIn(seen);
    expect(csrf).toBe('');
    expect(await codeOf(await seen.post('api/v1/release', {}, { cookie }))).toBe('403 actions-off');
  });
});

test('authorize decides who sees and who acts, and a forged request is still refused', async () => {
  const users: Record<string, { user: string; mayAct: boolean }> = {
    root: { user: 'root', mayAct: true },
    guest: { user: 'guest', mayAct: false },
  };
  const seen = monitor({
    actions: true,
    authorize: (request) => users[request.headers.get('x-user') ?? ''] ?? null,
  });
  expect(await codeOf(await seen.get('api/v1/state'))).toBe('403 forbidden');
  expect((await seen.get('')).status).toBe(403);
  expect((await seen.state({ 'x-user': 'guest' })).viewer).toEqual({
    user: 'guest',
    mayAct: false,
    csrf: '',
  });
  const { csrf } = (await seen.state({ 'x-user': 'root' })).viewer;
  const body = { name: 'a', holder: 'b', fence: null, reason: 'c' };
  expect(await codeOf(await seen.post('api/v1/release', body, { 'x-user': 'guest' }))).toBe(
    '403 actions-off',
  );
  expect(await codeOf(await seen.post('api/v1/release', body, { 'x-user': 'root' }))).toBe('403 bad-origin');
  const headers = { 'x-user': 'root', 'x-holdfast-csrf': csrf };
  expect(await codeOf(await seen.post('api/v1/release', body, headers))).toBe('404 not-held');
});

test('logins are compared by digests of one length, whatever was typed', async () => {
  const auth = new Auth({
    login: { kind: 'token', token: TOKEN },
    actions: false,
    cookiePath: '/',
    now: () => 0,
  });
  const source = readFileSync(new URL('../src/http/auth.ts', import.meta.url), 'utf8');
  expect(source.match(/timingSafeEqual\(/g)).toHaveLength(1);
  expect(source).not.toMatch(/=== (login\.)?(token|password)\b/);
  const request = new Request('http://localhost/', { headers: { authorization: 'Bearer x' } });
  await expect(auth.identify(request, 'a')).rejects.toBeInstanceOf(HttpError);
});

test('every answer has the headers that keep foreign code out', async () => {
  const seen = monitor({ token: TOKEN });
  for (const path of ['', 'api/v1/state', 'healthz', 'nothing', 'metrics']) {
    const { headers } = await seen.get(path, BEARER);
    expect(headers.get('content-security-policy'), path).toContain("trusted-types 'none'");
    expect(headers.get('content-security-policy'), path).toContain("default-src 'none'");
    expect(headers.get('x-content-type-options'), path).toBe('nosniff');
    expect(headers.get('referrer-policy'), path).toBe('no-referrer');
  }
});

test('hostile names are data, and paths lead nowhere else', async () => {
  const name = `<img src=x onerror=alert(1)>"'\u0000\u202e../../etc`;
  const locks = session(client(server.port));
  await locks.lock(name).acquire({ leaseMs: 60_000 });
  const seen = monitor();
  await seen.untilRow(name);
  expect((await seen.state()).locks.map((row) => row.name)).toContain(name);
  expect((await seen.detail(name)).row?.name).toBe(name);
  for (const path of [
    '../package.json',
    '..%2fpackage.json',
    'manifest.json',
    '.git/config',
    'api/v1/../../x',
    '%00',
  ]) {
    expect((await seen.get(path)).status, path).toBe(404);
  }
  expect((await seen.get('api/v1/servers/history?server=x&series=cpu')).status).toBe(404);
  expect((await seen.get('api/v1/servers/history?server=x&series=%3Cscript%3E')).status).toBe(400);
  expect((await seen.get('api/v1/audit?before=x')).status).toBe(400);
  expect((await seen.get(`api/v1/lock?name=${'x'.repeat(9_000)}`)).status).toBe(413);
});

test('a body of 16 KB is read, and one byte more is not', async () => {
  const seen = monitor({ token: TOKEN, actions: true });
  const bodyOf = (bytes: number) => `{"x":"${'y'.repeat(bytes - 8)}"}`;
  expect(await codeOf(await seen.post('api/v1/release', bodyOf(16_384), BEARER))).toBe('400 bad-request');
  expect(await codeOf(await seen.post('api/v1/release', bodyOf(16_385), BEARER))).toBe('413 too-large');
});

describe('over a real socket', () => {
  async function listening(options: Partial<MonitorOptions> = {}): Promise<{ port: number }> {
    const seen = monitor(options);
    const http = createMonitorServer(seen.monitor);
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    closing({
      close: () => {
        http.closeAllConnections();
        http.close();
      },
    });
    const address = http.address();
    return { port: typeof address === 'object' && address !== null ? address.port : 0 };
  }

  test('a request whose headers trickle in is ended', async () => {
    const { port } = await listening();
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n');
    const drip = setInterval(() => socket.write('x-slow: 1\r\n'), 500);
    const said = await new Promise<string>((resolve) => {
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.on('close', () => resolve(text));
      socket.on('error', () => resolve(text));
    });
    clearInterval(drip);
    expect(said).toMatch(/^HTTP\/1\.1 408 /);
  });
});
