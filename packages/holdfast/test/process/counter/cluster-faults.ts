/** A cluster whose primary of one name is replaced again and again: in good order, or by killing it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisCluster } from '../../support/servers/redis-cluster.ts';
import { waitFor } from '../../support/wait-for.ts';

const PROMOTION_LIMIT_MS = 60_000;

const KINDS = ['planned', 'killed'] as const;

export interface Fault {
  readonly kind: (typeof KINDS)[number];
  readonly beganMs: number;
  /** When another primary had the slot, and a replica if that was asked for. */
  readonly overMs: number;
}

/** Of the machine's own clock, which all processes share. */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export class ClusterFaults {
  readonly faults: Fault[] = [];
  readonly #cluster: RedisCluster;
  readonly #name: string;
  readonly #needsReplica: boolean;

  constructor(cluster: RedisCluster, name: string, needsReplica: boolean) {
    this.#cluster = cluster;
    this.#name = name;
    this.#needsReplica = needsReplica;
  }

  /** One after the other, by turns, until the time is over and each kind has happened. */
  async run(periodMs: number, everyMs: number): Promise<void> {
    const endMs = nowMs() + periodMs;
    for (let turn = 0; turn < KINDS.length || nowMs() < endMs; turn += 1) {
      const startedMs = nowMs();
      await this.#strike(KINDS[turn % KINDS.length] ?? 'planned');
      await sleep(Math.max(0, Math.min(startedMs + everyMs, endMs) - nowMs()));
    }
  }

  async #strike(kind: Fault['kind']): Promise<void> {
    const primary = await this.#cluster.primaryOf(this.#name);
    const beganMs = nowMs();
    if (kind === 'planned') await this.#cluster.failOver(primary);
    else await primary.kill();
    await waitFor(async () => (await this.#cluster.primaryOf(this.#name)) !== primary, {
      limitMs: PROMOTION_LIMIT_MS,
      what: 'another primary',
    });
    const promotedMs = nowMs();
    await this.#cluster.ensureWhole();
    this.faults.push({ kind, beganMs, overMs: this.#needsReplica ? nowMs() : promotedMs });
  }
}
