/** Moves a slot from one node of a cluster to another, step by step, so that a test can stop in between. */
import { command, type RedisCluster } from './redis-cluster.ts';
import type { RedisServer } from './redis-server.ts';

export class SlotMigration {
  readonly #cluster: RedisCluster;
  readonly #slot: number;
  readonly from: RedisServer;
  readonly to: RedisServer;
  #isUnderWay = false;

  constructor(cluster: RedisCluster, slot: number, from: RedisServer, to: RedisServer) {
    this.#cluster = cluster;
    this.#slot = slot;
    this.from = from;
    this.to = to;
  }

  /** To whichever other primary. */
  static async of(cluster: RedisCluster, slot: number): Promise<SlotMigration> {
    const from = await cluster.primaryOfSlot(slot);
    const to = (await cluster.primaries()).find((node) => node !== from);
    if (to === undefined) throw new Error('the cluster has one primary only');
    return new SlotMigration(cluster, slot, from, to);
  }

  /** From now on the slot is on its way: keys that are gone from the old node are to be asked for at the new one. */
  async begin(): Promise<void> {
    this.#isUnderWay = true;
    await command(this.to, 'CLUSTER', 'SETSLOT', `${this.#slot}`, 'IMPORTING', await this.#id(this.from));
    await command(this.from, 'CLUSTER', 'SETSLOT', `${this.#slot}`, 'MIGRATING', await this.#id(this.to));
  }

  /** Moves these keys, or all that are there. */
  async moveKeys(...keys: string[]): Promise<void> {
    const all = keys.length > 0 ? keys : await this.#keys();
    if (all.length === 0) return;
    const place = ['127.0.0.1', `${this.to.port}`, '', '0', '5000'];
    await command(this.from, 'MIGRATE', ...place, 'KEYS', ...all);
  }

  /** The new node has the slot, and everybody hears of it. */
  async finish(): Promise<void> {
    const id = await this.#id(this.to);
    for (const node of [this.to, this.from]) {
      await command(node, 'CLUSTER', 'SETSLOT', `${this.#slot}`, 'NODE', id);
    }
    this.#isUnderWay = false;
  }

  async run(): Promise<void> {
    await this.begin();
    await this.moveKeys();
    await this.finish();
  }

  /** Whatever a test left open is brought to its end. */
  async settle(): Promise<void> {
    if (!this.#isUnderWay) return;
    await this.moveKeys();
    await this.finish();
  }

  #id(node: RedisServer): Promise<string> {
    return this.#cluster.idOf(node);
  }

  async #keys(): Promise<string[]> {
    const keys = await command(this.from, 'CLUSTER', 'GETKEYSINSLOT', `${this.#slot}`, '10000');
    return (keys as unknown[]).map(String);
  }
}
