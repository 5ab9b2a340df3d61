/** What an operator may do from the page: each is in the audit trail before it is done. */
import type { Locks } from 'holdfast';
import type { AlertOrder, AlertSource } from '../alert-source.ts';
import type { AlertMatch, Row } from '../api/types.ts';
import { type AuditTrail, REASON_MAX } from '../audit/audit-trail.ts';
import { stringIn } from './body.ts';
import { HttpError } from './responses.ts';

const NAME_MAX = 1_024;
/** Nothing is silenced for longer than that: a silence that is forgotten hides the next outage. */
const SILENCE_MS_MAX = 30 * 24 * 3_600_000;

export interface ActionTerms {
  readonly locks: Locks;
  readonly audit: AuditTrail;
  /** False: nothing is written to the audit trail. Said loudly at the start. */
  readonly isAudited: boolean;
  readonly alerts: AlertSource;
  readonly now: () => number;
  readonly rowOf: (name: string) => Row | undefined;
  readonly notice: (text: string) => void;
}

export interface Actor {
  readonly user: string;
  readonly address: string;
}

export class Actions {
  readonly #terms: ActionTerms;

  constructor(terms: ActionTerms) {
    this.#terms = terms;
  }

  /** Takes a lock away from the holder that was shown, and from nobody else. */
  async release(body: Record<string, unknown>, actor: Actor): Promise<{ released: string }> {
    const name = stringIn(body, 'name', NAME_MAX);
    const holder = stringIn(body, 'holder', NAME_MAX);
    const reason = reasonIn(body);
    const fence = fenceIn(body);
    const shown = this.#terms.rowOf(name);
    if (shown !== undefined && shown.holder === holder && fence !== null && shown.fence !== fence) {
      throw new HttpError('changed', 'the fence has changed since: another owner has the lock', {
        now: shown,
      });
    }
    const action = { action: 'release', subject: name, holder, fence, reason } as const;
    return this.#audited(action, actor, async () => {
      const lost = await this.#take(name, holder, reason);
      this.#terms.notice(`${actor.user} took ${name} away: ${reason}`);
      return { result: { released: lost }, words: `released from ${lost}` };
    });
  }

  async #take(name: string, owner: string, reason: string): Promise<string> {
    let lost: string | null;
    try {
      lost = await this.#terms.locks.forceRelease(name, { owner, reason });
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : '';
      if (code === 'ELOCKNOTHELD') {
        throw new HttpError('changed', 'somebody else holds it by now', { now: this.#terms.rowOf(name) });
      }
      const words = error instanceof Error ? error.message : String(error);
      if (code === 'ELOCKCONFLICT' || code === 'ELOCKCONFIG') throw new HttpError('bad-request', words);
      throw new HttpError('redis-away', words);
    }
    if (lost === null) throw new HttpError('not-held', 'nobody holds it');
    return lost;
  }

  silence(body: Record<string, unknown>, actor: Actor): Promise<{ matched: number }> {
    return this.#order('silence', body, actor);
  }

  ack(body: Record<string, unknown>, actor: Actor): Promise<{ matched: number }> {
    return this.#order('ack', body, actor);
  }

  async #order(
    action: 'silence' | 'ack',
    body: Record<string, unknown>,
    actor: Actor,
  ): Promise<{ matched: number }> {
    if (this.#terms.alerts.limits() === null) {
      throw new HttpError('bad-request', 'no rule is judged: start the monitor with --config');
    }
    const match = matchIn(body);
    const until = untilIn(body, this.#terms.now());
    const reason = reasonIn(body);
    const order: AlertOrder = { match, until, reason, by: actor.user };
    return this.#audited({ action, subject: JSON.stringify(match), reason }, actor, async () => {
      const { alerts } = this.#terms;
      const matched = await (action === 'ack' ? alerts.ack(order) : alerts.silence(order));
      return { result: { matched }, words: `until ${new Date(until).toISOString()}, ${matched} alerts` };
    });
  }

  /** Asked, done, told. What fails is in the trail too. */
  async #audited<Result>(
    action: {
      readonly action: 'release' | 'silence' | 'ack';
      readonly subject: string;
      readonly holder?: string;
      readonly fence?: number | null;
      readonly reason: string;
    },
    { user, address }: Actor,
    work: () => Promise<{ readonly result: Result; readonly words: string }>,
  ): Promise<Result> {
    const { audit, isAudited } = this.#terms;
    if (!isAudited) return (await work()).result;
    const id = await audit.ask({ ...action, by: user, via: 'page', address }).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      throw new HttpError('audit-failed', `nothing was done: ${why}`);
    });
    try {
      const { result, words } = await work();
      await audit.done(id, words).catch(() => {});
      return result;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      await audit.done(id, `not done: ${why}`).catch(() => {});
      throw error;
    }
  }
}

function reasonIn(body: Record<string, unknown>): string {
  const reason = stringIn(body, 'reason', REASON_MAX).trim();
  if (reason === '') throw new HttpError('bad-request', 'expected reason to say why, got blanks');
  return reason;
}

function fenceIn({ fence }: Record<string, unknown>): number | null {
  if (fence === null || Number.isSafeInteger(fence)) return fence as number | null;
  throw new HttpError('bad-request', `expected fence to be a whole number or null, got ${typeof fence}`);
}

function untilIn({ until }: Record<string, unknown>, now: number): number {
  if (typeof until !== 'number' || !(until > now) || until > now + SILENCE_MS_MAX) {
    throw new HttpError(
      'bad-request',
      'expected until to be a time in ms within the next 30 days, got another',
    );
  }
  return until;
}

const MATCH_FIELDS = ['fingerprint', 'rule', 'subject'] as const;

function matchIn({ match }: Record<string, unknown>): AlertMatch {
  const given = typeof match === 'object' && match !== null ? (match as Record<string, unknown>) : {};
  const unknown = Object.keys(given).find((key) => !MATCH_FIELDS.some((field) => field === key));
  if (unknown !== undefined || Object.keys(given).length === 0) {
    throw new HttpError(
      'bad-request',
      `expected match to have some of ${MATCH_FIELDS.join(', ')}, got ${unknown ?? 'none'}`,
    );
  }
  return Object.fromEntries(Object.keys(given).map((key) => [key, stringIn(given, key, NAME_MAX)]));
}
