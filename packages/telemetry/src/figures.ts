/**
 * From the events of holdfast to figures, for whichever backend.
 *
 * In this folder: from the channels of holdfast to figures and spans, and the entry for OpenTelemetry. `prometheus/`
 * imports the table of figures and its helpers from here.
 */
import type {
  EndedMessage,
  HandedOverMessage,
  LateReleaseMessage,
  Lease,
  LockTrace,
  RenewTrace,
  WokenMessage,
} from 'holdfast';
import type { Groups } from './groups.ts';
import {
  ACQUIRE_DURATION,
  ACQUIRE_PENDING,
  type Backend,
  GROUPS_OVERFLOW,
  HANDOVERS,
  HOLD_DURATION,
  LEASES,
  LEASES_LOST,
  RELEASES_LATE,
  RENEWAL_MARGIN,
  RENEWALS,
  WAKEUPS,
} from './instruments.ts';
import { outcomeOf } from './outcome.ts';
import { SeriesOfGroup } from './series.ts';
import type { Subscriptions } from './subscriptions.ts';
import { WorkFigures } from './work-figures.ts';

const RENEWAL_OUTCOMES: Readonly<Record<string, string>> = { kept: 'renewed', gone: 'gone' };

export class Figures {
  readonly #backend: Backend;
  readonly #groups: Groups | null;
  /** By kind, then by group. */
  readonly #series = new Map<string, Map<string, SeriesOfGroup>>();
  /** Acquisitions under way that were heard from their start. */
  readonly #pending = new Map<LockTrace, SeriesOfGroup>();
  /** Leases that were heard of when they were granted. */
  readonly #leases = new Map<string, SeriesOfGroup>();

  constructor(backend: Backend, groups: Groups | null, subscriptions: Subscriptions) {
    this.#backend = backend;
    this.#groups = groups;
    if (groups !== null) backend.series(GROUPS_OVERFLOW, {})(0);
    backend.watch(ACQUIRE_PENDING, () => this.#all().map(({ base, pending }) => [base, pending]));
    backend.watch(LEASES, () => this.#all().map(({ base, leases }) => [base, leases]));
    subscriptions.trace<LockTrace>('acquire', 'start', (trace) => this.#begin(trace));
    subscriptions.trace<LockTrace>('acquire', 'asyncEnd', (trace) => this.#end(trace));
    subscriptions.trace<RenewTrace>('renew', 'asyncEnd', (trace) => this.#renewed(trace));
    subscriptions.on<EndedMessage>('ended', (message) => this.#ended(message));
    subscriptions.on<HandedOverMessage>('handedOver', ({ lock, kind, scope }) =>
      this.#of(lock, kind).add(HANDOVERS, 1, scope),
    );
    subscriptions.on<LateReleaseMessage>('lateRelease', ({ lock, kind, outcome }) =>
      this.#of(lock, kind).add(RELEASES_LATE, 1, outcome),
    );
    subscriptions.on<WokenMessage>('woken', ({ lock, kind, reason }) =>
      this.#of(lock, kind).add(WAKEUPS, 1, reason),
    );
    new WorkFigures((name, kind, isUse) => this.#of(name, kind, isUse), subscriptions);
  }

  #begin(trace: LockTrace): void {
    const series = this.#of(trace.lock, trace.kind, true);
    this.#pending.set(trace, series);
    series.pending += 1;
  }

  #end(trace: LockTrace): void {
    const begun = this.#pending.get(trace);
    if (begun !== undefined) {
      this.#pending.delete(trace);
      begun.pending -= 1;
    }
    const series = begun ?? this.#of(trace.lock, trace.kind);
    const { lease, via = '', waitedMs = 0, result } = trace;
    const { outcome, errorType } = outcomeOf(trace);
    if (outcome === 'acquired') series.add(ACQUIRE_DURATION, waitedMs / 1000, outcome, via);
    else series.add(ACQUIRE_DURATION, waitedMs / 1000, outcome, '', errorType);
    // A lease can be lost before its caller gets it, and is told of before this.
    if (lease === undefined || !(result as Lease).isHeld) return;
    this.#leases.set(lease, series);
    series.leases += 1;
  }

  #ended({ lock, kind, lease, heldMs, end, reason }: EndedMessage): void {
    const counted = this.#leases.get(lease);
    if (counted !== undefined) {
      this.#leases.delete(lease);
      counted.leases -= 1;
    }
    const series = counted ?? this.#of(lock, kind);
    series.add(HOLD_DURATION, heldMs / 1000, end);
    if (reason !== undefined) series.add(LEASES_LOST, 1, reason);
  }

  #renewed({ kind, locks, leaseMs, marginMs = [], result }: RenewTrace): void {
    const results = (result ?? []) as readonly ({ readonly is: string } | undefined)[];
    for (const [i, lock] of locks.entries()) {
      const series = this.#of(lock, kind);
      const is = results[i]?.is ?? 'failed';
      series.add(RENEWALS, 1, RENEWAL_OUTCOMES[is] ?? 'failed');
      if (is !== 'kept') continue;
      const share = (marginMs[i] ?? 0) / (leaseMs[i] ?? 1);
      series.add(RENEWAL_MARGIN, Math.min(1, Math.max(0, share)));
    }
  }

  #all(): SeriesOfGroup[] {
    return [...this.#series.values()].flatMap((ofKind) => [...ofKind.values()]);
  }

  #of(name: string, kind: string, isUse = false): SeriesOfGroup {
    const grouped = this.#groups?.of(name, kind);
    if (isUse && grouped?.isOverflow === true) this.#backend.series(GROUPS_OVERFLOW, {})(1);
    let ofKind = this.#series.get(kind);
    if (ofKind === undefined) {
      ofKind = new Map();
      this.#series.set(kind, ofKind);
    }
    const group = grouped?.group ?? '';
    let series = ofKind.get(group);
    if (series === undefined) {
      series = new SeriesOfGroup(this.#backend, grouped === undefined ? { kind } : { kind, group });
      ofKind.set(group, series);
    }
    return series;
  }
}
