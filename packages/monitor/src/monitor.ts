/**
 * `createMonitor`: everything wired together, as one handler of web requests.
 *
 * In this folder: the monitor as a whole, its options, and two seams between its parts: the figures that the sampler
 * writes (`figures.ts`), and what HTTP and the alerts ask of each other (`alert-source.ts`). The parts are the
 * folders below; they import the seams from here, and the time limit of their calls (`time-limit.ts`).
 */
import { Locks } from 'holdfast';
import { type Cluster, Redis } from 'ioredis';
import { type AlertEngine, type AlertSource, NO_ALERTS } from './alert-source.ts';
import { createAlerts, type SettingsHolder } from './alerts/index.ts';
import { type AuditRedis, AuditTrail } from './audit/audit-trail.ts';
import type { FiguresSource } from './figures.ts';
import { errorResponse, HttpError } from './http/responses.ts';
import { buildRoutes } from './http/route-parts.ts';
import { answer, type RouteParts } from './http/routes.ts';
import type { StreamHub } from './http/stream-hub.ts';
import { type CheckedOptions, checkOptions, type MonitorOptions } from './options.ts';
import { JobBook } from './sampling/jobs.ts';
import { Sampler } from './sampling/sampler.ts';
import type { MonitorRedis } from './sampling/servers/clients.ts';

/** What the server that received a request knows of it, and the request itself does not say. */
export interface Origin {
  /** The address of the client, for slowing down who guesses logins. @default one for all */
  readonly address?: string;
  /** Whether the client speaks TLS: then the cookie is only for TLS. @default by the URL of the request */
  readonly isSecure?: boolean;
}

export interface Monitor {
  /** Answers one request. Never rejects. */
  handle(request: Request, origin?: Origin): Promise<Response>;
  /** The picture that the page shows, for programs. */
  readonly figures: FiguresSource;
  /** Stops looking, and ends all streams. */
  close(): Promise<void>;
}

const URL_LENGTH_MAX = 8_192;

/** Begins to look at once. The clients are not used themselves and not closed. */
export function createMonitor(options: MonitorOptions): Monitor {
  const checked = checkOptions(options);
  return new RunningMonitor(checked);
}

class RunningMonitor implements Monitor {
  readonly figures: Sampler;
  readonly #options: CheckedOptions;
  readonly #parts: RouteParts;
  readonly #hub: StreamHub;
  readonly #engine: AlertEngine | null;
  readonly #jobs: JobBook;
  readonly #locks: Locks[];
  readonly #clients: (Redis | Cluster)[];
  /** Ends the subscription to changes of the settings. */
  readonly #forget: () => void;

  constructor(options: CheckedOptions) {
    this.#options = options;
    const { redis, writer = redis, fleet, prefix, budget } = options;
    const readers = ownClients(redis);
    const writers = writer === redis ? readers : ownClients(writer);
    this.#clients = [...new Set([...readers, ...writers])];
    const audit = new AuditTrail(readers as readonly AuditRedis[], writers as readonly AuditRedis[]);
    const reading = new Locks(redis as Redis | Redis[], { prefix, application: false });
    const writing =
      writer === redis ? reading : new Locks(writer as Redis | Redis[], { prefix, application: false });
    const sampler = new Sampler({
      redis,
      fleet,
      prefix,
      budget,
      reloadable: options.reloadable(),
      readRecords: (sessions) => reading.records(sessions),
      readAudit: () => audit.readNew(),
      takeForced: (end) => audit.takeForced(end),
      holdsMax: options.holdsMax,
      locksMax: options.locksMax,
    });
    this.figures = sampler;
    this.#forget = options.settings?.onChange(() => sampler.reload(options.reloadable())) ?? (() => {});
    this.#locks = [...new Set([reading, writing])];
    this.#engine =
      options.settings === undefined ? null : this.#makeEngine(options.settings, writer, writers);
    const alerts: AlertSource = this.#engine ?? NO_ALERTS;
    this.#jobs = new JobBook({ read: (pace) => reading.jobs({ pace }), now: () => sampler.now(), budget });
    const { hub, parts } = buildRoutes({
      options,
      sampler,
      reading,
      writing,
      jobs: this.#jobs,
      audit,
      alerts,
    });
    this.#hub = hub;
    this.#parts = parts;
    alerts.onChange(() => hub.sendAlerts());
    sampler.start();
    hub.start();
    this.#engine?.start();
  }

  /** The state of the alerts is on a Redis of its own if the settings say so; of a quorum on the first server. */
  #makeEngine(
    settings: SettingsHolder,
    writer: MonitorRedis,
    writers: readonly (Redis | Cluster)[],
  ): AlertEngine | null {
    const { fleet, log = () => {} } = this.#options;
    const url = settings.current.stateUrl;
    const [first] = Array.isArray(writer) ? (writer as readonly Redis[]) : [writer as Redis];
    const like = url === null ? first : new Redis(url.reveal(), { lazyConnect: true });
    const state = url === null ? writers[0] : ownClients(like as Redis)[0];
    if (state === undefined || like === undefined) return null;
    const locks = new Locks(like, { application: 'holdfast-monitor' });
    this.#locks.push(locks);
    if (url !== null) this.#clients.push(state);
    return createAlerts({ fleet, figures: this.figures, state: state as AuditRedis, locks, settings, log });
  }

  async handle(request: Request, origin: Origin = {}): Promise<Response> {
    try {
      if (request.url.length > URL_LENGTH_MAX) throw new HttpError('too-large', 'the address is too long');
      const url = new URL(request.url);
      const { basePath } = this.#options;
      if (!url.pathname.startsWith(basePath)) {
        if (`${url.pathname}/` === basePath) return redirect(basePath);
        throw new HttpError('not-found', 'there is nothing at this address');
      }
      const { address = 'all', isSecure = url.protocol === 'https:' } = origin;
      const path = url.pathname.slice(basePath.length);
      return await answer(this.#parts, { request, url, path, address, isSecure });
    } catch (error) {
      if (error instanceof HttpError) return errorResponse(error);
      this.#options.log?.(`a request failed: ${error instanceof Error ? error.message : String(error)}`);
      return errorResponse(new HttpError('internal', 'the monitor failed at this request; its log says why'));
    }
  }

  async close(): Promise<void> {
    this.#forget();
    this.figures.close();
    this.#jobs.close();
    this.#hub.close();
    await this.#engine?.close();
    await Promise.all(this.#locks.map((locks) => locks.close()));
    for (const client of this.#clients) client.disconnect();
  }
}

function redirect(to: string): Response {
  return new Response(null, { status: 308, headers: { location: to } });
}

/** Connections of our own with the settings of the caller's. They connect with the first command. */
function ownClients(redis: MonitorRedis): (Redis | Cluster)[] {
  const quiet = {
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    keyPrefix: '',
    connectionName: 'holdfast-monitor',
  };
  const clients = Array.isArray(redis) ? redis : [redis];
  return clients.map((client: Redis | Cluster) => {
    const own =
      client instanceof Redis
        ? client.duplicate(quiet)
        : client.duplicate([], { lazyConnect: true, keyPrefix: '', clusterRetryStrategy: () => 1_000 });
    own.on('error', () => {});
    return own;
  });
}
