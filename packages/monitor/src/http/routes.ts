/**
 * Which request is answered by what. Paths are relative to where the monitor is mounted.
 *
 * In this folder: requests and their answers: logins, the stream, actions, metrics and the files of the page. Only
 * `monitor.ts`, `options.ts` and `index.ts` import from here.
 */
import type { AlertSource } from '../alert-source.ts';
import { SERIES, type SeriesName, type State } from '../api/types.ts';
import { STALE_LOOK_MS } from '../figures.ts';
import type { JobBook } from '../sampling/jobs.ts';
import type { Sampler } from '../sampling/sampler.ts';
import type { Actions, Actor } from './actions.ts';
import { type Auth, checkOrigin, type Visitor } from './auth.ts';
import { readJson, stringIn } from './body.ts';
import type { LockDetails } from './lock-detail.ts';
import { renderMetrics } from './metrics.ts';
import type { PageFiles } from './page-files.ts';
import type { PagedAnswers } from './paged-answers.ts';
import { HttpError, json, SAFE_HEADERS, text } from './responses.ts';
import type { StateBody } from './state-body.ts';
import type { StreamHub } from './stream-hub.ts';

const NAME_MAX = 1_024;
const CURSOR = /^\d{1,15}-\d{1,15}$/;

export interface RouteParts {
  readonly auth: Auth;
  readonly page: PageFiles;
  readonly sampler: Sampler;
  readonly state: StateBody;
  readonly paged: PagedAnswers;
  readonly details: LockDetails;
  readonly jobs: JobBook;
  readonly hub: StreamHub;
  readonly alerts: AlertSource;
  readonly actions: Actions;
  readonly version: string;
}

export interface Arrival {
  readonly request: Request;
  readonly url: URL;
  /** Relative to the mount. */
  readonly path: string;
  readonly address: string;
  readonly isSecure: boolean;
}

export async function answer(parts: RouteParts, arrival: Arrival): Promise<Response> {
  const { request, path } = arrival;
  if (path === 'healthz') return healthz(parts, arrival);
  if (request.method === 'GET' || request.method === 'HEAD') return get(parts, arrival);
  if (request.method === 'POST') return post(parts, arrival);
  throw new HttpError('bad-request', 'expected GET or POST, got another method');
}

/** 200 while this process lives: a Redis that is away must not make anybody restart us. */
function healthz({ sampler }: RouteParts, { url }: Arrival): Response {
  if (!url.searchParams.has('ready')) return text(200, 'ok\n');
  const { lookedAt } = sampler.picture;
  const isFresh = lookedAt !== null && sampler.now() - lookedAt <= STALE_LOOK_MS;
  return isFresh ? text(200, 'ready\n') : text(503, 'the locks were not looked at lately\n');
}

async function get(parts: RouteParts, arrival: Arrival): Promise<Response> {
  const { auth, page, sampler, hub } = parts;
  const { request, url, path, address } = arrival;
  const file = page.serve(path);
  // The page itself must be there to log in. Who may see it at all is asked where a program or the host decides.
  if (file !== null && auth.isPagePublic) return file;
  const visitor = await auth.identify(request, address);
  if (file !== null) return file;
  switch (path) {
    case 'api/v1/state': {
      const acceptsGzip = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '');
      return parts.state.respond(auth.viewer(visitor), acceptsGzip);
    }
    case 'api/v1/stream':
      return stream(hub, request, url);
    case 'api/v1/lock':
      return json(200, await parts.details.read(nameIn(url)));
    case 'api/v1/jobs':
      return json(200, await orAway(parts.jobs.page(), JOBS_RIGHTS));
    case 'api/v1/servers/history':
      return history(sampler, url);
    case 'api/v1/alerts':
      return json(200, await orAway(parts.paged.alerts(cursorIn(url))));
    case 'api/v1/audit':
      return json(200, await orAway(parts.paged.audit(cursorIn(url))));
    case 'metrics': {
      const body = renderMetrics(sampler.read(), parts.alerts.metrics(), parts.version, sampler.groups);
      return text(200, body, 'text/plain; version=0.0.4; charset=utf-8');
    }
    default:
      throw new HttpError('not-found', 'there is nothing at this address');
  }
}

/** What the page says to who has not given the monitor's user the rights for jobs. */
const JOBS_RIGHTS = '~holdfast_job:* ~holdfast_job_lock:* +hexists';

/** What is read from Redis for one request, or why it cannot be. `rights`: what a user that is refused may lack. */
async function orAway<Value>(reading: Promise<Value>, rights = ''): Promise<Value> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof HttpError) throw error;
    if (rights !== '' && /NOPERM/.test(String(error))) {
      throw new HttpError('forbidden', `the monitor's user of Redis lacks rights: it needs ${rights}`);
    }
    throw new HttpError('redis-away', error instanceof Error ? error.message : String(error));
  }
}

function stream(hub: StreamHub, request: Request, url: URL): Response {
  if (hub.isFull) throw new HttpError('too-many-streams', 'too many pages are open');
  const from = request.headers.get('last-event-id') ?? url.searchParams.get('from');
  return new Response(hub.open(from), {
    headers: {
      ...SAFE_HEADERS,
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    },
  });
}

function history(sampler: Sampler, url: URL): Response {
  const wanted = (url.searchParams.get('series') ?? '').split(',').filter((name) => name !== '');
  const names = wanted.map((name): SeriesName => {
    const known = SERIES.find((one) => one === name);
    if (known !== undefined) return known;
    throw new HttpError(
      'bad-request',
      `expected series among ${SERIES.join(', ')}, got ${JSON.stringify(name.slice(0, 40))}`,
    );
  });
  const found = sampler.history(url.searchParams.get('server') ?? '', names.length === 0 ? SERIES : names);
  if (found === null) throw new HttpError('not-found', 'no such server is watched');
  return json(200, found);
}

function nameIn(url: URL): string {
  const name = url.searchParams.get('name') ?? '';
  if (name !== '' && name.length <= NAME_MAX) return name;
  throw new HttpError('bad-request', `expected name with 1 to ${NAME_MAX} characters, got ${name.length}`);
}

function cursorIn(url: URL): string | null {
  const before = url.searchParams.get('before');
  if (before === null || CURSOR.test(before)) return before;
  throw new HttpError(
    'bad-request',
    'expected before to be what the last page gave as next, got something else',
  );
}

async function post(parts: RouteParts, arrival: Arrival): Promise<Response> {
  const { auth, actions } = parts;
  const { request, path, address, isSecure } = arrival;
  if (path === 'login') return logIn(auth, arrival);
  const visitor = await auth.identify(request, address);
  if (path === 'logout') {
    checkOrigin(request);
    return json(200, {}, { 'set-cookie': auth.logOut(request, isSecure) });
  }
  const work = workOf(actions, path);
  if (work === null) throw new HttpError('not-found', 'there is nothing at this address');
  const user = requireActor(visitor);
  auth.checkForged(request, visitor);
  try {
    return json(200, await work(await readJson(request), { user, address }));
  } finally {
    parts.paged.outdate();
  }
}

type Work = (body: Record<string, unknown>, actor: Actor) => Promise<object>;

function workOf(actions: Actions, path: string): Work | null {
  if (path === 'api/v1/release') return (body, actor) => actions.release(body, actor);
  if (path === 'api/v1/silence') return (body, actor) => actions.silence(body, actor);
  return path === 'api/v1/ack' ? (body, actor) => actions.ack(body, actor) : null;
}

function requireActor({ mayAct, user }: Visitor): string {
  if (mayAct && user !== null) return user;
  throw new HttpError('actions-off', 'actions are switched off, or this user may not act');
}

async function logIn(auth: Auth, { request, address, isSecure }: Arrival): Promise<Response> {
  checkOrigin(request);
  const body = await readJson(request);
  const user = typeof body['user'] === 'string' ? body['user'] : '';
  const cookie = auth.logIn({ user, password: stringIn(body, 'password', 1_024) }, address, isSecure);
  return json(200, {}, { 'set-cookie': cookie });
}

/** The whole picture of now, without the part of its viewer. */
export function makeState(
  parts: Omit<RouteParts, 'state' | 'actions' | 'auth'>,
  fleet: string,
): Omit<State, 'viewer'> {
  const { sampler, hub, alerts, page } = parts;
  hub.flush();
  const servers = sampler.cards();
  return {
    id: hub.id,
    at: sampler.now(),
    fleet,
    version: page.version,
    topology: sampler.topology(servers),
    totals: sampler.picture.totals(),
    locks: [...sampler.picture.rows.values()],
    servers,
    alerts: alerts.views(),
    limits: alerts.limits(),
    survey: sampler.survey(),
    forbidden: sampler.forbidden(),
    reach: { holdsSince: sampler.picture.reach, seriesSince: sampler.seriesSince },
  };
}
