/** Makes one decision of a step of the machine: which alerts are written, who is sent what, what leaves the outbox. Pure. */
import type { AlertSettings, Receiver } from '../config/settings.ts';
import { type Alert, isSameAlert } from '../machine/alert.ts';
import type { Announcement } from '../machine/announce.ts';
import { type Notice, noticesFor } from '../machine/notice.ts';
import type { Decision } from '../state/store.ts';
import type { Delivery, QueuedDelivery } from '../state/stored.ts';

export interface Composition {
  readonly before: ReadonlyMap<string, Alert>;
  readonly after: ReadonlyMap<string, Alert>;
  readonly incidents: number;
  readonly announcements: readonly Announcement[];
  readonly settings: AlertSettings;
  /** What waits for each receiver; without what is being sent at this moment. */
  readonly waiting: ReadonlyMap<string, readonly QueuedDelivery[]>;
  /** Messages to receivers that are gone. */
  readonly orphans: readonly QueuedDelivery[];
  /** Messages of a state that was lost. */
  readonly rescued: readonly Delivery[];
  readonly endedMutes: readonly string[];
  readonly takenOutage: readonly string[];
  readonly revision: number;
  readonly nowMs: number;
}

/** Null: nothing changed. */
export function compose(given: Composition): Decision | null {
  const { settings, announcements, orphans, endedMutes, takenOutage, incidents, nowMs } = given;
  const alerts = changesOf(given);
  const queues = settings.receivers.map((receiver) => ({
    receiver,
    queue: new Queue(given.waiting.get(receiver.name) ?? []),
  }));
  for (const { receiver, queue } of queues)
    for (const delivery of given.rescued) if (delivery.receiver === receiver.name) queue.add(delivery);
  announcements.forEach((announcement, index) => {
    // The time too: after a flushed state revisions begin anew, and no key may come back.
    const key = `${nowMs.toString(36)}-${given.revision + 1}-${index}`;
    for (const { receiver, queue } of queues)
      for (const notice of noticesFor(receiver, announcement, settings, key, nowMs))
        queue.add(toDelivery(receiver, notice, nowMs));
  });
  const push = queues.flatMap(({ queue }) => queue.added);
  const dropped = queues.flatMap(({ queue }) => queue.dropped);
  const drop = [...dropped, ...orphans].map(({ receiver, id }) => ({ receiver, id }));
  const history = [...eventsOf(given), ...orphans.map(({ id, receiver }) => deadOrphan(id, receiver, nowMs))];
  const changes = [alerts, push, drop, history, endedMutes, takenOutage];
  if (changes.every(({ length }) => length === 0)) return null;
  return { alerts, incidents, push, drop, history, endedMutes, takenOutage };
}

function changesOf({ before, after }: Composition): Decision['alerts'] {
  const written = [...after.values()].filter((alert) => !isSameAlert(before.get(alert.fingerprint), alert));
  const removed = [...before.keys()].filter((fingerprint) => !after.has(fingerprint));
  return [
    ...written.map((alert) => ({ fingerprint: alert.fingerprint, alert })),
    ...removed.map((fingerprint) => ({ fingerprint, alert: null })),
  ];
}

function eventsOf({ before, after }: Composition): { kind: string; entry: unknown }[] {
  return [...after.values()].flatMap((alert) => {
    const old = before.get(alert.fingerprint);
    const isNew = old?.incident !== alert.incident || old.state !== alert.state;
    if (!isNew || alert.state === 'pending') return [];
    return [{ kind: alert.state === 'firing' ? 'fired' : 'resolved', entry: alert }];
  });
}

function toDelivery(receiver: Receiver, notice: Notice, nowMs: number): Delivery {
  return { id: `${notice.key}@${receiver.name}`, receiver: receiver.name, queuedAtMs: nowMs, notice };
}

function deadOrphan(id: string, receiver: string, atMs: number): { kind: string; entry: unknown } {
  const error = 'the receiver is not in the configuration any more';
  return { kind: 'dead', entry: { receiver, id, state: 'dead', atMs, error } };
}

/** What waits for one receiver. A message that a newer one makes superfluous leaves it. */
class Queue {
  readonly dropped: Delivery[] = [];
  #waiting: Delivery[];
  #added: Delivery[] = [];

  constructor(waiting: readonly Delivery[]) {
    this.#waiting = [...waiting];
  }

  get added(): readonly Delivery[] {
    return this.#added;
  }

  add(delivery: Delivery): void {
    const { notice } = delivery;
    const covered = this.#waiting.filter((older) => isCovered(older.notice, notice));
    if (notice.kind === 'repeat') {
      // Who has not heard yet that it fires need not hear it again.
      if (this.#waiting.some(({ notice: older }) => older.kind === 'firing' && isCovered(notice, older)))
        return;
      this.#drop(covered.filter((older) => older.notice.kind === 'repeat'));
    }
    if (notice.kind === 'resolved') {
      const unsaid = covered.filter((older) => older.notice.kind !== 'resolved');
      this.#drop(unsaid);
      const saysBoth = unsaid.some((older) => older.notice.kind === 'firing');
      this.#put({ ...delivery, notice: { ...notice, saysBoth } });
      return;
    }
    this.#put(delivery);
  }

  #put(delivery: Delivery): void {
    this.#waiting.push(delivery);
    this.#added.push(delivery);
  }

  #drop(superfluous: readonly Delivery[]): void {
    this.#waiting = this.#waiting.filter((one) => !superfluous.includes(one));
    this.#added = this.#added.filter((one) => !superfluous.includes(one));
    this.dropped.push(...superfluous);
  }
}

/** Whether all alerts of a notice are also in another one. One that does not name all of its alerts is never covered. */
function isCovered(one: Notice, by: Notice): boolean {
  if (one.total > one.alerts.length) return false;
  const keys = new Set(by.alerts.map(({ key }) => key));
  return one.alerts.every(({ key }) => keys.has(key));
}
