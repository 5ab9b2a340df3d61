/** What is read from the state, and how it is spelled there. */
import type { Alert } from '../machine/alert.ts';
import type { Mute } from '../machine/mute.ts';
import type { Notice } from '../machine/notice.ts';

/** One message on its way to one receiver. */
export interface Delivery {
  readonly id: string;
  readonly receiver: string;
  readonly queuedAtMs: number;
  readonly notice: Notice;
}

export interface QueuedDelivery extends Delivery {
  readonly tries: number;
  readonly nextAtMs: number;
  readonly lastAtMs: number | null;
  readonly error: string | null;
}

/** How the last try of a receiver went. */
export interface Outcome {
  readonly receiver: string;
  readonly id: string;
  readonly state: 'sent' | 'retrying' | 'dead';
  readonly atMs: number;
  readonly tries: number;
  readonly error: string | null;
  readonly rule: string;
  readonly kind: Notice['kind'];
  /** The incidents, or fingerprints, of the message. */
  readonly keys: readonly string[];
}

/** What a monitor said by itself while the state was away. */
export interface Spoken {
  readonly fingerprint: string;
  readonly server: string;
  readonly summary: string;
  readonly sinceMs: number;
  readonly firedAtMs: number;
  /** Who was told. */
  readonly receivers: readonly string[];
}

export interface Snapshot {
  readonly nowMs: number;
  readonly revision: number;
  readonly incidents: number;
  readonly alerts: ReadonlyMap<string, Alert>;
  readonly mutes: readonly Mute[];
  readonly spoken: readonly Spoken[];
  readonly outcomes: readonly Outcome[];
  /** By receiver, the next first. */
  readonly outboxes: ReadonlyMap<string, readonly QueuedDelivery[]>;
  /** Deliveries to receivers that the configuration does not have any more. */
  readonly orphans: readonly QueuedDelivery[];
}

/** Field and value of a hash, as scripts return them. */
function pairs(reply: unknown): [string, string][] {
  const list = Array.isArray(reply) ? reply.map(String) : [];
  return list.flatMap((field, index) => (index % 2 === 0 ? [[field, list[index + 1] ?? '']] : []));
}

/** A value that cannot be read is left out: an older or newer version may have written it. */
export function readValues<T>(reply: unknown): T[] {
  return pairs(reply).flatMap(([, text]) => parseJson<T>(text) ?? []);
}

export function parseJson<T>(text: string): T | null {
  try {
    return JSON.parse(text) as T;
  } catch {
    return null;
  }
}

/** The reply of `begin` and `peek`: see there. */
export function readSnapshot(reply: readonly unknown[], receivers: readonly string[]): Snapshot {
  const [, nowMs, metaPairs, alerts, delivery, tries, silences, outage, outcomes, ...lists] = reply;
  const meta = new Map(pairs(metaPairs));
  const triesOf = new Map(pairs(tries));
  const queued = new Map(
    readValues<Delivery>(delivery).map((one) => [one.id, withTries(one, triesOf.get(one.id))]),
  );
  const outboxes = new Map(
    receivers.map((receiver, index) => {
      const ids = Array.isArray(lists[index]) ? lists[index].map(String) : [];
      return [receiver, ids.flatMap((id) => queued.get(id) ?? [])];
    }),
  );
  return {
    nowMs: Number(nowMs),
    revision: Number(meta.get('revision') ?? 0),
    incidents: Number(meta.get('incidents') ?? 0),
    alerts: new Map(readValues<Alert>(alerts).map((alert) => [alert.fingerprint, alert])),
    mutes: readValues<Mute>(silences),
    spoken: readValues<Spoken>(outage),
    outcomes: readValues<Outcome>(outcomes),
    outboxes,
    orphans: [...queued.values()].filter(({ receiver }) => !outboxes.has(receiver)),
  };
}

function withTries(delivery: Delivery, text = '0 0 0 '): QueuedDelivery {
  const [, tries = '0', next = '0', last = '0', error = ''] = /^(\d+) (\d+) (\d+) (.*)$/s.exec(text) ?? [];
  return {
    ...delivery,
    tries: Number(tries),
    nextAtMs: Number(next),
    lastAtMs: last === '0' ? null : Number(last),
    error: error === '' ? null : error,
  };
}
