/** The configuration of the alerts after it has been read: defaults filled in, units converted, secrets fetched. */
import type { Level } from '../rules/rule.ts';
import type { Secret } from './secret.ts';

/** Certificates of the authorities to trust for TLS, in PEM form; null: those that Node knows. */
type Authorities = string | null;

/** When a rule fires. Thresholds in milliseconds, as a count or as a share; null: the rule has no such level. */
export interface Thresholds {
  readonly isOff: boolean;
  readonly warning: number | null;
  readonly critical: number | null;
  readonly forMs: number;
}

export interface RuleSettings extends Thresholds {
  /** How long all must be well before the alert ends. */
  readonly keepForMs: number;
  /** For locks whose names begin so; the longest prefix that fits wins. Longest first. */
  readonly prefixes: readonly { readonly prefix: string; readonly thresholds: Thresholds }[];
}

export const RECEIVER_TYPES = [
  'webhook',
  'slack',
  'teams',
  'pagerduty',
  'alertmanager',
  'smtp',
  'command',
  'stdout',
] as const;
export type ReceiverType = (typeof RECEIVER_TYPES)[number];

interface ReceiverBase {
  readonly name: string;
  /** Which alerts it gets. */
  readonly levels: readonly Level[];
  readonly rules: readonly string[] | null;
  /** Whether it is told when an alert ends. */
  readonly isToldOfEnds: boolean;
}

export interface HttpReceiver extends ReceiverBase {
  readonly type: 'webhook' | 'slack' | 'teams' | 'alertmanager';
  readonly url: Secret;
  readonly headers: Readonly<Record<string, Secret>>;
  readonly ca: Authorities;
}

export interface PagerReceiver extends ReceiverBase {
  readonly type: 'pagerduty';
  readonly url: Secret;
  readonly routingKey: Secret;
  readonly ca: Authorities;
}

export interface SmtpReceiver extends ReceiverBase {
  readonly type: 'smtp';
  /** `smtp://host:587`, `smtps://user:password@host`. */
  readonly url: Secret;
  readonly password: Secret | null;
  readonly ca: Authorities;
  readonly from: string;
  readonly to: readonly string[];
}

export interface CommandReceiver extends ReceiverBase {
  readonly type: 'command';
  readonly argv: readonly string[];
}

export interface StdoutReceiver extends ReceiverBase {
  readonly type: 'stdout';
}

export type Receiver = HttpReceiver | PagerReceiver | SmtpReceiver | CommandReceiver | StdoutReceiver;

export interface AlertSettings {
  readonly fleet: string;
  /** Patterns of names that become a label of metrics. */
  readonly groups: readonly string[];
  readonly mutexes: readonly string[];
  readonly memoryLimitBytes: number | null;
  /** The URL of the Redis that holds the state of the alerts; null: the servers that are watched. */
  readonly stateUrl: Secret | null;
  readonly rules: ReadonlyMap<string, RuleSettings>;
  readonly receivers: readonly Receiver[];
  readonly heartbeat: { readonly url: Secret; readonly ca: Authorities; readonly everyMs: number } | null;
  readonly repeatMs: Readonly<Record<Level, number>>;
  /** Alerts of one rule that fire within this time travel in one message. */
  readonly groupMs: number;
}

/** All secrets of the settings, to be taken out of what is logged. */
export function secretsOf(settings: AlertSettings): Secret[] {
  const found: (Secret | null)[] = [settings.stateUrl, settings.heartbeat?.url ?? null];
  for (const receiver of settings.receivers) {
    if ('url' in receiver) found.push(receiver.url);
    if ('headers' in receiver) found.push(...Object.values(receiver.headers));
    if ('routingKey' in receiver) found.push(receiver.routingKey);
    if ('password' in receiver) found.push(receiver.password);
  }
  return found.filter((secret) => secret !== null);
}
