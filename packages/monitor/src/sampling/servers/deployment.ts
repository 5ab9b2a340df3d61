/**
 * Which servers there are: a lane for each primary, a watch for each replica and sentinel. What replicas and cluster nodes there
 * are is asked anew every ten seconds.
 *
 * In this folder: connections to the servers, what INFO and TIME say, and which servers there are. Only `sampling/`,
 * `monitor.ts`, `options.ts` and `index.ts` import from here.
 */
import type { RedisOptions } from 'ioredis';
import type { ServerCard, TopologyView } from '../../api/types.ts';
import type { Lane } from '../locks/lane.ts';
import { repeat } from '../pace.ts';
import { type Layout, nodePlace, type Place } from './clients.ts';
import { SentinelWatch } from './sentinel-watch.ts';
import { isForbidden, ServerConnection } from './server-connection.ts';
import { replicasOf } from './server-facts.ts';
import { ServerWatch } from './server-watch.ts';
import { describeTopology } from './topology-view.ts';

const DISCOVER_EVERY_MS = 10_000;
/** Until the first picture stands. */
const DISCOVER_FIRST_MS = 500;
const SERVERS_MAX = 64;
/** A replica that no primary names and that does not answer was taken away on purpose. */
const GONE_REPLICA_MS = 600_000;

export interface DeploymentTerms {
  readonly memoryLimit: () => number | null;
  readonly now: () => number;
  readonly changed: () => void;
  /** Makes and starts the lane of a primary. */
  readonly makeLane: (watch: ServerWatch) => Lane;
  readonly endLane: (lane: Lane, heir: Lane | null) => void;
}

export class Deployment {
  readonly layout: Layout;
  readonly #terms: DeploymentTerms;
  readonly #stop = new AbortController();
  /** By what it is asked for: the name of the place. */
  readonly #lanes = new Map<string, Lane>();
  readonly #replicas = new Map<string, ServerWatch>();
  readonly #sentinels: SentinelWatch[];
  #slotsOk: number | null = null;
  #hasDiscovered = false;

  constructor(layout: Layout, terms: DeploymentTerms) {
    this.layout = layout;
    this.#terms = terms;
    this.#sentinels = layout.sentinels.map(
      ({ name, options }) =>
        new SentinelWatch(new ServerConnection(name, options), layout.sentinelName ?? '', terms.now),
    );
  }

  start(): void {
    for (const place of this.layout.places) this.#openLane(place);
    for (const sentinel of this.#sentinels) sentinel.start();
    void repeat(
      () => (this.#hasDiscovered ? DISCOVER_EVERY_MS : DISCOVER_FIRST_MS),
      () => this.#discover(),
      this.#stop.signal,
    );
  }

  close(): void {
    this.#stop.abort();
    for (const lane of this.#lanes.values()) {
      lane.close();
      lane.watch.close();
    }
    for (const watch of this.#replicas.values()) watch.close();
    for (const sentinel of this.#sentinels) sentinel.close();
  }

  get lanes(): Lane[] {
    return [...this.#lanes.values()];
  }

  watchOf(id: string): ServerWatch | undefined {
    return [...this.lanes.map(({ watch }) => watch), ...this.#replicas.values()].find((one) => one.id === id);
  }

  get watches(): ServerWatch[] {
    return [...this.lanes.map(({ watch }) => watch), ...this.#replicas.values()];
  }

  cards(): ServerCard[] {
    const cards = [...this.watches.map((watch) => watch.card()), ...this.#sentinels.map((one) => one.card())];
    // After a failover a server may be seen both as the primary and as the replica that it was.
    return [...new Map(cards.toReversed().map((card) => [card.id, card])).values()].toReversed();
  }

  topology(cards: readonly ServerCard[], now: number): TopologyView {
    return describeTopology(this.layout.kind, cards, this.#slotsOk, this.#sentinels, now);
  }

  #openWatch({ name, options }: Place, role: 'primary' | 'replica'): ServerWatch {
    const { memoryLimit, now, changed } = this.#terms;
    const watch = new ServerWatch(new ServerConnection(name, options), { role, memoryLimit, now, changed });
    watch.start();
    return watch;
  }

  #openLane(place: Place): Lane {
    const lane = this.#terms.makeLane(this.#openWatch(place, 'primary'));
    this.#lanes.set(place.name, lane);
    return lane;
  }

  async #discover(): Promise<void> {
    if (this.layout.kind === 'cluster') await this.#discoverNodes();
    else this.#discoverReplicas();
    if (this.layout.kind === 'sentinel') this.#followPrimary();
    this.#hasDiscovered ||=
      this.layout.kind === 'cluster'
        ? this.#slotsOk !== null
        : this.lanes.some(({ watch }) => watch.info !== null);
  }

  /** A former primary answers reads as a replica: then the sentinels are asked again. */
  #followPrimary(): void {
    for (const { watch } of this.lanes) {
      if (watch.info?.get('role') === 'slave') watch.connection.reconnect();
    }
  }

  #discoverReplicas(): void {
    const named = new Set<string>();
    for (const { watch } of this.lanes) {
      if (watch.info === null) continue;
      const like = watch.connection.redis.options;
      for (const { host, port } of replicasOf(watch.info)) {
        const place = nodePlace(like, host, port);
        named.add(place.name);
        this.#openReplica(place);
      }
    }
    for (const [name, watch] of this.#replicas) {
      const { health, healthSince } = watch.card();
      if (health === 'up' || named.has(name) || this.#terms.now() - healthSince < GONE_REPLICA_MS) continue;
      watch.close();
      this.#replicas.delete(name);
    }
  }

  #openReplica(place: Place): void {
    if (this.#replicas.has(place.name) || this.#replicas.size + this.#lanes.size >= SERVERS_MAX) return;
    this.#replicas.set(place.name, this.#openWatch(place, 'replica'));
  }

  /** Asks one node that answers for all of them. */
  async #discoverNodes(): Promise<void> {
    for (const { watch } of this.lanes) {
      try {
        const slots = (await watch.connection.call('CLUSTER', 'SLOTS')) as readonly SlotRange[];
        const info = String(await watch.connection.call('CLUSTER', 'INFO'));
        this.#slotsOk = Number(/cluster_slots_ok:(\d+)/.exec(info)?.[1] ?? Number.NaN) || 0;
        if (slots.length > 0) this.#apply(slots, watch.connection.redis.options);
        return;
      } catch (error) {
        if (isForbidden(error)) watch.forbidden.add('cluster');
      }
    }
  }

  #apply(slots: readonly SlotRange[], like: RedisOptions): void {
    const askedHost = like.host ?? '127.0.0.1';
    const placeFor = ([host, port]: Node): Place => nodePlace(like, host || askedHost, port);
    const primaries = new Map<string, Place>();
    const replicas = new Map<string, Place>();
    for (const [, , primary, ...others] of slots) {
      const place = placeFor(primary);
      primaries.set(place.name, place);
      for (const other of others) replicas.set(placeFor(other).name, placeFor(other));
    }
    const heirs: Lane[] = [];
    for (const [name, place] of primaries) {
      this.#replicas.get(name)?.close();
      this.#replicas.delete(name);
      if (!this.#lanes.has(name)) heirs.push(this.#openLane(place));
    }
    for (const [name, lane] of [...this.#lanes]) {
      if (primaries.has(name)) continue;
      this.#lanes.delete(name);
      // A replica that took over knows the locks of the primary that it replaced.
      this.#terms.endLane(lane, heirs[0] ?? null);
      lane.close();
      lane.watch.close();
    }
    for (const [name, place] of replicas) if (!primaries.has(name)) this.#openReplica(place);
  }
}

type Node = readonly [host: string | null, port: number, ...rest: unknown[]];
type SlotRange = readonly [from: number, to: number, primary: Node, ...replicas: Node[]];
