/** `GET api/v1/alerts` and `audit`: pages of what has been, within the bound of all reads. */
import type { AlertSource } from '../alert-source.ts';
import type { AlertPage, AuditPage } from '../api/types.ts';
import type { AuditTrail } from '../audit/audit-trail.ts';
import type { PageRead, PageReads } from './page-reads.ts';
import { HttpError } from './responses.ts';

export class PagedAnswers {
  readonly #reads: PageReads;
  readonly #alerts: AlertSource;
  readonly #audit: AuditTrail;

  constructor(reads: PageReads, alerts: AlertSource, audit: AuditTrail) {
    this.#reads = reads;
    this.#alerts = alerts;
    this.#audit = audit;
  }

  /** `before` is `next` of another page; null: the newest. */
  async alerts(before: string | null): Promise<AlertPage> {
    const read = (): Promise<AlertPage> => this.#alerts.page(before);
    return this.#inTurn({ kind: 'alerts', what: before ?? '', calls: 2, read });
  }

  async audit(before: string | null): Promise<AuditPage> {
    const read = (): Promise<AuditPage> => this.#audit.page(before);
    return this.#inTurn({ kind: 'audit', what: before ?? '', calls: before === null ? 1 : 2, read });
  }

  /** Something was done, or an alert has changed: what was read before is given to nobody. */
  outdate(): void {
    this.#reads.outdate();
  }

  /** Who is over the bound is told to come again. The page does so by itself. */
  #inTurn<Answer>(read: PageRead<Answer>): Promise<Answer> {
    const reading = this.#reads.ask(read);
    if (reading !== null) return reading;
    const words = 'so much is asked for that more would cost Redis too much; try again in 1 s';
    throw new HttpError('too-many-reads', words, { headers: { 'retry-after': '1' } });
  }
}
