/** What keeps a login, a cookie and an action from those that they do not belong to, piece by piece. */
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { Auth, type Login } from '../src/http/auth.ts';
import { readJson } from '../src/http/body.ts';
import { SAFE_HEADERS } from '../src/http/responses.ts';
import { createMonitorServer, type Monitor } from '../src/index.ts';
import { client, closing, TestMonitor } from './support/monitor.ts';

const server = useRedis();

const LOGIN = { user: 'ops', password: 'a long password' };
const HOURS_12 = 12 * 3_600_000;

function auth(login: Login, now: () => number = () => 0): Auth {
  return new Auth({ login, actions: true, cookiePath: '/', now });
}

function request(headers: Record<string, string>): Request {
  return new Request('http://localhost/', { headers });
}

function basic(user: string, password: string): Request {
  return request({ authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` });
}

async function codeOf(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error: { code: string } };
  return `${response.status} ${error.code}`;
}

/** What a browser sends back of the cookie that it was given. */
function pairOf(cookie: string): string {
  return cookie.split(';')[0] ?? '';
}

describe('user and password', () => {
  test('are taken from a machine only if both are right', async () => {
    const guard = (): Auth => auth({ kind: 'password', ...LOGIN });
    expect(await guard().identify(basic('ops', LOGIN.password), 'a')).toMatchObject({ user: 'ops' });
    for (const [user, password] of [
      ['ops', 'a wrong password'],
      ['root', LOGIN.password],
      ['ops', ''],
    ] as const) {
      await expect(guard().identify(basic(user, password), 'a')).rejects.toMatchObject({
        code: 'wrong-login',
      });
    }
    // A token is no password, and a password no token.
    await expect(
      guard().identify(request({ authorization: `Bearer ${LOGIN.password}` }), 'a'),
    ).rejects.toMatchObject({ code: 'wrong-login' });
  });

  test('give a cookie for 12 hours, whatever the browser makes of its age', async () => {
    let now = 0;
    const guard = auth({ kind: 'password', ...LOGIN }, () => now);
    const cookie = pairOf(guard.logIn(LOGIN, 'a', false));
    now = HOURS_12;
    expect(await guard.identify(request({ cookie }), 'a')).toMatchObject({ user: 'ops' });
    now = HOURS_12 + 1;
    await expect(guard.identify(request({ cookie }), 'a')).rejects.toMatchObject({ code: 'login-needed' });
  });
});

test('the header against forged requests is that of one login, and no other', async () => {
  const guard = auth({ kind: 'password', ...LOGIN });
  const visit = (cookie: string): ReturnType<Auth['identify']> => guard.identify(request({ cookie }), 'a');
  const [mine, other] = [pairOf(guard.logIn(LOGIN, 'a', false)), pairOf(guard.logIn(LOGIN, 'b', false))];
  const stolen = guard.csrfOf(await visit(other));
  const visitor = await visit(mine);
  expect(() => guard.checkForged(request({ 'x-holdfast-csrf': stolen }), visitor)).toThrow('X-Holdfast-Csrf');
  guard.checkForged(request({ 'x-holdfast-csrf': guard.csrfOf(visitor) }), visitor);
  // Nor is it that of another monitor.
  const elsewhere = auth({ kind: 'password', ...LOGIN });
  expect(elsewhere.csrfOf(visitor)).not.toBe(guard.csrfOf(visitor));
});

test('another page cannot log anybody out', async () => {
  const seen = new TestMonitor({ redis: client(server.port), login: LOGIN });
  const cookie = pairOf((await seen.post('login', LOGIN)).headers.getSetCookie()[0] ?? '');
  expect(await codeOf(await seen.post('logout', {}, { cookie, origin: 'http://evil.example' }))).toBe(
    '403 bad-origin',
  );
  expect((await seen.get('api/v1/state', { cookie })).status).toBe(200);
});

test('who may act by the word of the program may not where actions are switched off', async () => {
  const seen = new TestMonitor({
    redis: client(server.port),
    authorize: () => ({ user: 'root', mayAct: true }),
  });
  expect((await seen.state()).viewer).toEqual({ user: 'root', mayAct: false, csrf: '' });
  expect(await codeOf(await seen.post('api/v1/release', {}))).toBe('403 actions-off');
});

test('a silence that would not end within 30 days, or has ended, is refused', async () => {
  const seen = new TestMonitor({
    redis: client(server.port),
    authorize: () => ({ user: 'root', mayAct: true }),
    actions: true,
  });
  const { csrf } = (await seen.state()).viewer;
  for (const until of [Date.now() + 31 * 24 * 3_600_000, Date.now() - 1_000, null, '2030-01-01']) {
    const order = { match: { rule: 'evicting' }, until, reason: 'r' };
    const response = await seen.post('api/v1/silence', order, { 'x-holdfast-csrf': csrf });
    expect(await codeOf(response), String(until)).toBe('400 bad-request');
  }
});

test('a body that says it is too long is not read at all', async () => {
  let pulls = 0;
  const body = new ReadableStream(
    {
      pull(controller) {
        pulls += 1;
        controller.enqueue(new Uint8Array(1_024));
      },
      // Nothing is asked for before somebody reads.
    },
    { highWaterMark: 0 },
  );
  const headers = { 'content-type': 'application/json', 'content-length': '16385' };
  const post = new Request('http://localhost/', {
    method: 'POST',
    headers,
    body,
    duplex: 'half',
  } as RequestInit);
  await expect(readJson(post)).rejects.toMatchObject({ code: 'too-large' });
  expect(pulls).toBe(0);
});

test('the policy of every answer is the whole of what docs and design say', () => {
  expect(SAFE_HEADERS['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; " +
      "form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  );
  expect(SAFE_HEADERS).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
});

describe('over a real socket', () => {
  /** Says where each request came from. */
  async function listening(trustProxy: boolean): Promise<(headers: object) => Promise<string>> {
    const monitor: Pick<Monitor, 'handle'> = {
      handle: async (_request, origin) => new Response(`${origin?.address} ${origin?.isSecure}`),
    };
    const http = createMonitorServer(monitor, { trustProxy });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    closing({
      close: () => {
        http.closeAllConnections();
        http.close();
      },
    });
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
    return async (headers) => (await fetch(url, { headers: { ...headers } })).text();
  }

  test('X-Forwarded-For and -Proto are believed only of a proxy that is trusted, and then the last', async () => {
    const forwarded = { 'x-forwarded-for': '10.9.9.9, 10.0.0.7', 'x-forwarded-proto': 'https' };
    expect(await (await listening(false))(forwarded)).toBe('127.0.0.1 false');
    expect(await (await listening(true))(forwarded)).toBe('10.0.0.7 true');
    expect(await (await listening(true))({})).toBe('127.0.0.1 false');
  });

  test('who sends slowly, and who opens many connections, is limited', () => {
    const http = createMonitorServer({ handle: async () => new Response() });
    expect(http).toMatchObject({ headersTimeout: 5_000, requestTimeout: 10_000, maxConnections: 256 });
  });
});
