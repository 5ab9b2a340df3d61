/** Alerts, as the page sees them. */

export type AlertLevel = 'warning' | 'critical';
export type AlertState = 'pending' | 'firing' | 'resolved';

/** How the message of an alert fares at one receiver. */
export interface DeliveryView {
  readonly receiver: string;
  readonly state: 'queued' | 'sent' | 'retrying' | 'dead' | 'silenced';
  readonly tries: number;
  /** When the last try was made; for `sent`, when the message was sent. */
  readonly at: number | null;
  readonly nextAt: number | null;
  /** Why the last try failed, one line without secrets. */
  readonly error: string | null;
}

export interface Acknowledgement {
  readonly by: string;
  readonly at: number;
  readonly until: number;
  readonly reason: string;
}

export interface SilenceView extends Acknowledgement {
  readonly id: string;
  readonly match: AlertMatch;
}

/** Which alerts are meant: all of the given fields must fit; `subject` may end in `*`. At least one field. */
export interface AlertMatch {
  readonly fingerprint?: string;
  readonly rule?: string;
  readonly subject?: string;
}

export interface AlertView {
  readonly fingerprint: string;
  /** `<fingerprint>.<counter>`. */
  readonly incident: string;
  readonly rule: string;
  readonly level: AlertLevel;
  /** A lock's name, a server's id, or the fleet. */
  readonly subject: string;
  readonly subjectKind: 'lock' | 'server' | 'fleet';
  readonly state: AlertState;
  /** When the condition became true. */
  readonly since: number;
  readonly firedAt: number | null;
  readonly resolvedAt: number | null;
  /** What was measured and what is allowed: "memory 96 % of 2 GB, limit 95 %". */
  readonly summary: string;
  readonly why: string;
  readonly todo: string;
  readonly deliveries: readonly DeliveryView[];
  readonly ack: Acknowledgement | null;
  readonly silence: SilenceView | null;
  /** The rule that speaks for it: it is not sent meanwhile. */
  readonly inhibitedBy: string | null;
}

/** From where the rules warn that the plots of a server have a line for; null: that rule is off. */
export interface PlottedLimits {
  readonly memoryShare: number | null;
  readonly cpuShare: number | null;
  readonly clientsShare: number | null;
  readonly roundTripMs: number | null;
}

/** `GET api/v1/alerts?before=`: `active` first, then a page of 100 of what has been. */
export interface AlertPage {
  readonly active: readonly AlertView[];
  readonly past: readonly AlertView[];
  readonly silences: readonly SilenceView[];
  /** Pass as `before` for the next page; `null` at the end. */
  readonly next: string | null;
}
