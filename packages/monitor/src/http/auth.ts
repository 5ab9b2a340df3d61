/**
 * Who may see and who may act.
 *
 * - No login configured: only names of this machine in `Host` (a page elsewhere cannot reach us by a name of its own), and nobody
 *   may act.
 * - A token, or user and password: `Authorization` for machines, a cookie for browsers.
 * - `authorize` of the program that mounts us: it decides; what it lets act still needs our header against forged requests.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Viewer } from '../api/types.ts';
import { Lockout } from './lockout.ts';
import { HttpError } from './responses.ts';

export interface Permission {
  readonly user: string;
  readonly mayAct: boolean;
}

export type Authorize = (request: Request) => Permission | null | Promise<Permission | null>;

/** How people prove who they are. */
export type Login =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'password'; readonly user: string; readonly password: string }
  | { readonly kind: 'authorize'; readonly authorize: Authorize };

/** Who a request comes from. `key`: what its CSRF header is bound to. */
export interface Visitor {
  readonly user: string | null;
  readonly mayAct: boolean;
  readonly key: string;
  /** Whether a browser sends the proof by itself: then a forged request could come with it. */
  readonly isAmbient: boolean;
}

const COOKIE = 'holdfast_monitor';
const COOKIE_MS = 12 * 3_600_000;
const SESSIONS_MAX = 1_000;

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

export interface AuthTerms {
  readonly login: Login;
  /** Whether actions are switched on at all. */
  readonly actions: boolean;
  readonly cookiePath: string;
  readonly now: () => number;
}

export class Auth {
  readonly #terms: AuthTerms;
  readonly #lockout: Lockout;
  readonly #secret = randomBytes(32);
  readonly #sessions = new Map<string, { readonly user: string; readonly until: number }>();

  constructor(terms: AuthTerms) {
    this.#terms = terms;
    this.#lockout = new Lockout(terms.now);
  }

  /** Whether everybody may load the page: it must be there to log in, and has nothing of the locks in it. */
  get isPagePublic(): boolean {
    const { kind } = this.#terms.login;
    return kind === 'token' || kind === 'password';
  }

  /** Throws what the visitor is told instead. */
  async identify(request: Request, address: string): Promise<Visitor> {
    const { login } = this.#terms;
    if (login.kind === 'authorize') return this.#byProgram(request, login.authorize);
    if (login.kind === 'none') {
      const host = request.headers.get('host') ?? new URL(request.url).host;
      if (!LOOPBACK.test(host)) {
        throw new HttpError(
          'bad-host',
          'expected a Host of this machine (localhost, 127.0.0.1), got another',
        );
      }
      return { user: null, mayAct: false, key: '', isAmbient: true };
    }
    const cookie = this.#byCookie(request);
    if (cookie !== null) return cookie;
    const authorization = request.headers.get('authorization');
    if (authorization === null) throw loginNeeded(login);
    this.#slowDown(address);
    const user = check(login, authorization);
    if (user === null) {
      this.#lockout.failed(address);
      throw new HttpError('wrong-login', 'the login is wrong', { headers: challenge(login) });
    }
    this.#lockout.succeeded(address);
    return { user, mayAct: this.#terms.actions, key: `header ${user}`, isAmbient: login.kind === 'password' };
  }

  async #byProgram(request: Request, authorize: Authorize): Promise<Visitor> {
    const permission = await authorize(request);
    if (permission === null) throw new HttpError('forbidden', 'this user may not see the locks');
    const { user, mayAct } = permission;
    return { user, mayAct: mayAct && this.#terms.actions, key: `program ${user}`, isAmbient: true };
  }

  #byCookie(request: Request): Visitor | null {
    const id = cookieOf(request);
    const session = id === null ? undefined : this.#sessions.get(digest(id).toString('hex'));
    if (id === null || session === undefined) return null;
    if (session.until < this.#terms.now()) return null;
    return { user: session.user, mayAct: this.#terms.actions, key: `cookie ${id}`, isAmbient: true };
  }

  #slowDown(address: string): void {
    const waitMs = this.#lockout.waitMs(address);
    if (waitMs === 0) return;
    const seconds = String(Math.ceil(waitMs / 1000));
    throw new HttpError('slow-down', `too many failed logins; try again in ${seconds} s`, {
      headers: { 'retry-after': seconds },
    });
  }

  /** Checks what a person typed. Returns the cookie. */
  logIn(
    typed: { readonly user: string; readonly password: string },
    address: string,
    isSecure: boolean,
  ): string {
    const { login, now } = this.#terms;
    if (login.kind !== 'token' && login.kind !== 'password') {
      throw new HttpError('not-found', 'there is nothing to log in to');
    }
    this.#slowDown(address);
    const isRight =
      login.kind === 'token'
        ? same(typed.password, login.token)
        : same(`${typed.user}\n${typed.password}`, `${login.user}\n${login.password}`);
    if (!isRight) {
      this.#lockout.failed(address);
      throw new HttpError('wrong-login', 'the login is wrong');
    }
    this.#lockout.succeeded(address);
    const id = randomBytes(32).toString('base64url');
    // Only a digest is kept: who reads our memory gets no cookie.
    this.#sessions.set(digest(id).toString('hex'), {
      user: login.kind === 'token' ? 'token' : login.user,
      until: now() + COOKIE_MS,
    });
    if (this.#sessions.size > SESSIONS_MAX) {
      this.#sessions.delete(this.#sessions.keys().next().value as string);
    }
    return this.#cookie(id, COOKIE_MS / 1000, isSecure);
  }

  logOut(request: Request, isSecure: boolean): string {
    const id = cookieOf(request);
    if (id !== null) this.#sessions.delete(digest(id).toString('hex'));
    return this.#cookie('', 0, isSecure);
  }

  #cookie(value: string, maxAge: number, isSecure: boolean): string {
    const parts = [`${COOKIE}=${value}`, `Path=${this.#terms.cookiePath}`, `Max-Age=${maxAge}`];
    return [...parts, 'HttpOnly', 'SameSite=Strict', ...(isSecure ? ['Secure'] : [])].join('; ');
  }

  csrfOf(visitor: Visitor): string {
    return createHmac('sha256', this.#secret).update(visitor.key).digest('base64url');
  }

  viewer(visitor: Visitor): Viewer {
    return {
      user: visitor.user,
      mayAct: visitor.mayAct,
      csrf: visitor.mayAct ? this.csrfOf(visitor) : '',
    };
  }

  /** Throws unless a POST comes from our own page, or from a program that shows its login itself. */
  checkForged(request: Request, visitor: Visitor): void {
    checkOrigin(request);
    if (!visitor.isAmbient) return;
    const sent = request.headers.get('x-holdfast-csrf') ?? '';
    if (!same(sent, this.csrfOf(visitor))) {
      throw new HttpError('bad-origin', 'expected the header X-Holdfast-Csrf of this login, got another');
    }
  }
}

/** A browser sends `Origin` with every POST: it must be the origin that the request came to. */
export function checkOrigin(request: Request): void {
  const origin = request.headers.get('origin');
  if (origin === null) return;
  const host = request.headers.get('host') ?? new URL(request.url).host;
  const isOurs = URL.canParse(origin) && new URL(origin).host === host;
  if (!isOurs)
    throw new HttpError('bad-origin', 'expected a request of our own page, got one of another origin');
}

function loginNeeded(login: Login): HttpError {
  return new HttpError('login-needed', 'log in first', { headers: challenge(login) });
}

/** Never asks for `Basic`: with it the browser asks by itself, and sends the password with every request from then on. */
function challenge({ kind }: Login): Record<string, string> {
  return { 'www-authenticate': kind === 'token' ? 'Bearer' : 'Bearer realm="holdfast"' };
}

/** The user, or null for a wrong login. */
function check(login: Login, authorization: string): string | null {
  const [, scheme = '', value = ''] = /^(\w+) +(.+)$/.exec(authorization) ?? [];
  if (login.kind === 'token' && scheme.toLowerCase() === 'bearer')
    return same(value, login.token) ? 'token' : null;
  if (login.kind === 'password' && scheme.toLowerCase() === 'basic') {
    const typed = Buffer.from(value, 'base64').toString('utf8');
    return same(typed, `${login.user}:${login.password}`) ? login.user : null;
  }
  return null;
}

function cookieOf(request: Request): string | null {
  const header = request.headers.get('cookie') ?? '';
  const [, id] = new RegExp(`(?:^|;\\s*)${COOKIE}=([\\w-]{43})(?:;|$)`).exec(header) ?? [];
  return id ?? null;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Takes the same time whatever differs, and however long both are. */
function same(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b));
}
