/**
 * The state of the alerts in Redis. What the leader writes carries its fence, and a fence below the stored one is
 * refused: a leader that was paused and does not know that another has taken over changes nothing.
 *
 * In this folder: the keys of the state, and how it is spelled in them. Only `alerts/` imports from here.
 */
import type { Clock } from 'holdfast';
import type { StateRedis } from '../../alert-source.ts';
import { inTime } from '../../time-limit.ts';
import type { Alert } from '../machine/alert.ts';
import type { Mute } from '../machine/mute.ts';
import { type StateKeys, stateKeys } from './keys.ts';
import { BEGIN } from './scripts/begin.ts';
import { CLAIM } from './scripts/claim.ts';
import { DECIDE } from './scripts/decide.ts';
import { NOTE } from './scripts/note.ts';
import { PEEK } from './scripts/peek.ts';
import type { StateScript } from './scripts/script.ts';
import { SETTLE } from './scripts/settle.ts';
import {
  type Delivery,
  type Outcome,
  parseJson,
  readSnapshot,
  readValues,
  type Snapshot,
  type Spoken,
} from './stored.ts';

/** Half of the leader's lease: a leader that waits longer for one answer is about to be replaced. */
const CALL_MS_MAX = 5_000;

/** Another monitor leads, with a higher fence. */
export class StaleLeaderError extends Error {}

/** The state is not as this leader believes: it must begin again. */
export class StateConflictError extends Error {}

/** One decision. See `scripts/decide.ts`. */
export interface Decision {
  readonly alerts: readonly { readonly fingerprint: string; readonly alert: Alert | null }[];
  readonly incidents: number;
  readonly push: readonly Delivery[];
  readonly drop: readonly { readonly receiver: string; readonly id: string }[];
  readonly history: readonly { readonly kind: string; readonly entry: unknown }[];
  readonly endedMutes: readonly string[];
  readonly takenOutage: readonly string[];
}

export interface Decided {
  readonly nowMs: number;
  readonly revision: number;
  readonly mutes: readonly Mute[];
  readonly spoken: readonly Spoken[];
}

export type Claim =
  | { readonly is: 'empty' }
  | { readonly is: 'wait'; readonly ms: number }
  | { readonly is: 'claimed'; readonly nowMs: number; readonly tries: number; readonly delivery: Delivery };

export class AlertStore {
  readonly keys: StateKeys;
  readonly #redis: StateRedis;
  readonly #clock: Clock;

  constructor(redis: StateRedis, fleet: string, clock: Clock) {
    this.#redis = redis;
    this.#clock = clock;
    this.keys = stateKeys(fleet);
  }

  async begin(fence: number, receivers: readonly string[]): Promise<Snapshot> {
    return readSnapshot(await this.#lead(BEGIN, this.#snapshotKeys(receivers), [fence]), receivers);
  }

  async peek(receivers: readonly string[]): Promise<Snapshot> {
    return readSnapshot(await this.#run(PEEK, this.#snapshotKeys(receivers), []), receivers);
  }

  /** Null only asks whether the state is as believed, and for silences. */
  async decide(fence: number, revision: number, token: string, decision: Decision | null): Promise<Decided> {
    const { meta, alerts, delivery, tries, silences, outage, history } = this.keys;
    const named = [...(decision?.push ?? []), ...(decision?.drop ?? [])].map(({ receiver }) => receiver);
    const receivers = [...new Set(named)];
    const keys = [meta, alerts, delivery, tries, silences, outage, history];
    const body = decision === null ? '' : encode(decision, receivers);
    const [outcome, nowMs, revisionNow, mutes, spoken] = await this.#lead(
      DECIDE,
      [...keys, ...receivers.map((receiver) => this.keys.outbox(receiver))],
      [fence, revision, token, body],
    );
    if (outcome === 'CONFLICT')
      throw new StateConflictError(`expected revision ${revision} of the alerts, got ${String(revisionNow)}`);
    return {
      nowMs: Number(nowMs),
      revision: Number(revisionNow),
      mutes: readValues<Mute>(mutes),
      spoken: readValues<Spoken>(spoken),
    };
  }

  async claim(fence: number, receiver: string, hiddenMs: number): Promise<Claim> {
    const { meta, delivery, tries } = this.keys;
    const keys = [meta, delivery, tries, this.keys.outbox(receiver)];
    const [outcome, ...rest] = await this.#lead(CLAIM, keys, [fence, hiddenMs]);
    if (outcome === 'WAIT') return { is: 'wait', ms: Number(rest[0]) };
    const claimed = outcome === 'CLAIMED' ? parseJson<Delivery>(String(rest[3])) : null;
    if (claimed === null) return { is: 'empty' };
    return { is: 'claimed', nowMs: Number(rest[0]), tries: Number(rest[2]), delivery: claimed };
  }

  /** `retryMs` is null when the delivery is done with. */
  async settle(fence: number, outcome: Outcome, retryMs: number | null): Promise<void> {
    const { meta, delivery, tries, history, receivers } = this.keys;
    const { receiver, id, error } = outcome;
    await this.#lead(
      SETTLE,
      [meta, delivery, tries, this.keys.outbox(receiver), history, receivers],
      [
        fence,
        id,
        retryMs === null ? 'done' : 'retry',
        Math.ceil(retryMs ?? 0),
        error ?? '',
        receiver,
        JSON.stringify(outcome),
        outcome.state,
      ],
    );
  }

  async addMute(mute: Mute): Promise<void> {
    await this.#note(this.keys.silences, mute.id, mute, 'silences and acknowledgements');
  }

  /** Leaves word of what was said while the state was away. */
  async addSpoken(spoken: Spoken): Promise<void> {
    await this.#note(this.keys.outage, spoken.fingerprint, spoken, 'alerts of outages');
  }

  /** Entries of the history before that id (exclusive), the newest first. */
  async history(
    before: string | null,
    count: number,
  ): Promise<{ id: string; kind: string; entry: string }[]> {
    const end = before === null ? '+' : `(${before}`;
    const reply = await this.#inTime(
      this.#redis.call('XREVRANGE', this.keys.history, end, '-', 'COUNT', String(count)),
    );
    return (Array.isArray(reply) ? reply : []).map(([id, fields]: [unknown, unknown[]]) => ({
      id: String(id),
      kind: String(fields[1]),
      entry: String(fields[3]),
    }));
  }

  async #note(key: string, field: string, value: unknown, what: string): Promise<void> {
    const [outcome] = await this.#run(NOTE, [key], [field, JSON.stringify(value)]);
    if (outcome === 'FULL') throw new Error(`there are too many ${what} already`);
  }

  #snapshotKeys(receivers: readonly string[]): string[] {
    const { meta, alerts, delivery, tries, silences, outage, receivers: outcomes } = this.keys;
    const lists = receivers.map((receiver) => this.keys.outbox(receiver));
    return [meta, alerts, delivery, tries, silences, outage, outcomes, ...lists];
  }

  async #lead(
    script: StateScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown[]> {
    const reply = await this.#run(script, keys, args);
    if (reply[0] === 'STALE') throw new StaleLeaderError('another monitor leads with a higher fence');
    return reply;
  }

  #run(script: StateScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown[]> {
    return this.#inTime(script.run(this.#redis, keys, args));
  }

  /** A frozen server must not keep the leader waiting for ever. */
  #inTime<T>(work: Promise<T>): Promise<T> {
    const late = (): Error => new Error(`the state of the alerts did not answer within ${CALL_MS_MAX} ms`);
    return inTime(work, { limitMs: CALL_MS_MAX, late, timers: this.#clock });
  }
}

function encode(decision: Decision, receivers: readonly string[]): string {
  const number = (receiver: string): number => receivers.indexOf(receiver) + 1;
  return JSON.stringify({
    alerts: decision.alerts.map(({ fingerprint, alert }) => [
      fingerprint,
      alert === null ? '' : JSON.stringify(alert),
    ]),
    incidents: decision.incidents,
    push: decision.push.map((delivery) => [number(delivery.receiver), delivery.id, JSON.stringify(delivery)]),
    drop: decision.drop.map(({ receiver, id }) => [number(receiver), id]),
    history: decision.history.map(({ kind, entry }) => [kind, JSON.stringify(entry)]),
    mutes: decision.endedMutes,
    outage: decision.takenOutage,
  });
}
