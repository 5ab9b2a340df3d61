/** Makes what the routes need: the page, the stream, logins, actions and the state, from the sampler and the alerts. */
import type { Locks } from 'holdfast';
import type { AlertSource } from '../alert-source.ts';
import type { AuditTrail } from '../audit/audit-trail.ts';
import type { JobBook } from '../sampling/jobs.ts';
import type { Sampler } from '../sampling/sampler.ts';
import { VERSION } from '../version.ts';
import { Actions } from './actions.ts';
import { Auth, type Login } from './auth.ts';
import { LockDetails } from './lock-detail.ts';
import { PageFiles } from './page-files.ts';
import { PageReads } from './page-reads.ts';
import { PagedAnswers } from './paged-answers.ts';
import { makeState, type RouteParts } from './routes.ts';
import { StateBody } from './state-body.ts';
import { StreamHub } from './stream-hub.ts';

/** Those of the checked options that answers depend on. */
interface RouteOptions {
  readonly fleet: string;
  readonly basePath: string;
  readonly actions: boolean;
  readonly audit: boolean;
  readonly budget: number;
  readonly login: Login;
  /** @default the page of this package */
  readonly pageFolder?: string | null;
}

interface RouteSources {
  readonly options: RouteOptions;
  readonly sampler: Sampler;
  /** By the user that may only read. */
  readonly reading: Locks;
  readonly writing: Locks;
  readonly jobs: JobBook;
  readonly audit: AuditTrail;
  readonly alerts: AlertSource;
}

export function buildRoutes({ options, sampler, reading, writing, jobs, audit, alerts }: RouteSources): {
  readonly hub: StreamHub;
  readonly parts: RouteParts;
} {
  const page = new PageFiles(options.pageFolder);
  const { picture, now } = sampler;
  const hub = new StreamHub({
    version: page.version,
    now,
    rows: picture.rows,
    takeChanged: () => picture.takeChanged(),
    totals: () => picture.totals(),
    servers: () => {
      const changed = sampler.cards();
      const topology = sampler.topology(changed);
      return {
        at: now(),
        changed,
        removed: [],
        topology,
        survey: sampler.survey(),
        forbidden: sampler.forbidden(),
        limits: alerts.limits(),
      };
    },
    alerts: () => ({ at: now(), alerts: alerts.views() }),
  });
  const reads = new PageReads(now, options.budget);
  // Before the pages hear of the change: what they then ask for must have it.
  alerts.onChange(() => reads.outdate());
  const base = {
    page,
    sampler,
    hub,
    alerts,
    jobs,
    version: VERSION,
    paged: new PagedAnswers(reads, alerts, audit),
    details: new LockDetails(sampler, reading, reads),
  };
  const parts: RouteParts = {
    ...base,
    state: new StateBody(() => makeState(base, options.fleet), now),
    auth: new Auth({ login: options.login, actions: options.actions, cookiePath: options.basePath, now }),
    actions: new Actions({
      locks: writing,
      audit,
      isAudited: options.audit,
      alerts,
      now,
      rowOf: (name) => picture.rows.get(name),
      notice: (words) => {
        reads.outdate();
        hub.notice(words);
      },
    }),
  };
  return { hub, parts };
}
