/** The nodes of a cluster that we talk to, and which of them has which slot. */
import { CallFailure } from '../../clients/client.ts';
import { addressKey, type NodeAddress } from '../../clients/cluster/address.ts';
import { type ClusterDriver, driveNode } from '../../clients/cluster/cluster-driver.ts';
import { SlotMap } from '../../clients/cluster/slot-map.ts';
import { oneCommand } from '../../clients/one-command.ts';
import { ownedClient } from '../../clients/owned-client.ts';
import { detached } from '../../runtime/detached.ts';
import { inMs } from '../../runtime/printable.ts';
import type { Random } from '../../runtime/random.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import { within } from '../../runtime/timers.ts';
import type { PubSubMode } from '../protocol.ts';
import { ClusterNode, type ClusterNodeOptions } from './node.ts';
import { PubSubModeChoice } from './pubsub-mode.ts';

export interface ClusterOptions extends ClusterNodeOptions {
  readonly random: Random;
  readonly pubsub: PubSubMode | 'auto';
}

/** A node that has had no slot for this long is closed: what was sent to it has long been answered or given up. */
const IDLE_MS_MAX = 60_000;

export class ClusterNodes {
  readonly #driver: ClusterDriver;
  readonly #timers: TimerQueue;
  readonly #options: ClusterOptions;
  readonly #map: SlotMap;
  readonly #nodes = new Map<string, ClusterNode>();
  /** Since when a node is known to have no slots. */
  readonly #idleSinceMs = new Map<ClusterNode, number>();
  readonly #closing = new AbortController();
  readonly #choice: PubSubModeChoice;
  #preparing: Promise<CallFailure | null> | null = null;
  #isClosed = false;
  onChange: () => void = () => {};
  onRefused: (node: ClusterNode, failure: CallFailure) => void = () => {};

  constructor(driver: ClusterDriver, timers: TimerQueue, options: ClusterOptions) {
    this.#driver = driver;
    this.#timers = timers;
    this.#options = options;
    this.#choice = new PubSubModeChoice(options.pubsub, timers.clock, {
      nodes: () => this.#map.owners,
      ask: (node, question) => oneCommand(driveNode(driver, node), question, timers, this.#closing.signal),
      changed: () => this.onChange(),
    });
    this.#map = new SlotMap(driver, timers, options.random, {
      changed: () => this.#changed(),
      signal: this.#closing.signal,
    });
  }

  get description(): string {
    return this.#driver.description;
  }

  get keyPrefix(): string {
    return this.#driver.keyPrefix;
  }

  /** Whether a node of the cluster has ever answered. */
  get isKnown(): boolean {
    return this.#map.isKnown;
  }

  /** Which channels carry wake-ups. Known once `ready` has resolved; it may change while the choice is not final. */
  get pubSubMode(): PubSubMode {
    return this.#choice.mode;
  }

  get owners(): readonly ClusterNode[] {
    return this.#map.owners.map((address) => this.at(address));
  }

  /** Resolves to null when the nodes are known, or to why they are not. */
  ready(timeoutMs: number): Promise<CallFailure | null> {
    if (this.#isClosed) return Promise.resolve(new CallFailure('closed', 'the client is closed'));
    if (this.#map.isKnown && this.#choice.isMade) {
      this.#choice.reconsider();
      return Promise.resolve(null);
    }
    this.#preparing ??= detached(() => this.#prepare()).finally(() => {
      this.#preparing = null;
    });
    return this.#within(this.#preparing, timeoutMs);
  }

  /** Asks the cluster for its map. */
  read(timeoutMs: number): Promise<CallFailure | null> {
    if (this.#isClosed) return Promise.resolve(new CallFailure('closed', 'the client is closed'));
    return this.#within(
      detached(() => this.#map.read()),
      timeoutMs,
    );
  }

  /** Asks the cluster for its map, in the background. */
  refresh(suspect?: ClusterNode): void {
    if (!this.#isClosed) void detached(() => this.#map.read(suspect?.address));
  }

  ownerOf(slot: number): ClusterNode | null {
    const address = this.#map.ownerOf(slot);
    return address === undefined ? null : this.at(address);
  }

  /**
   * For a slot that the map has nobody for: the map is asked for anew. A cluster that is being made gives out its
   * slots bit by bit, and no redirection can tell of a slot for which there is nobody to ask.
   */
  async findOwnerOf(slot: number, timeoutMs: number): Promise<ClusterNode | null> {
    await this.read(timeoutMs);
    return this.#isClosed ? null : this.ownerOf(slot);
  }

  /** The node that has taken over the slot from one that cannot be reached, or null if none has so far. */
  async otherOwnerOf(slot: number, failed: ClusterNode, timeoutMs: number): Promise<ClusterNode | null> {
    if (this.ownerOf(slot) === failed) await this.#within(this.#map.read(failed.address), timeoutMs);
    const owner = this.ownerOf(slot);
    return owner === failed || this.#isClosed ? null : owner;
  }

  learn(slot: number, owner: NodeAddress): void {
    this.#map.learn(slot, owner);
  }

  at(address: NodeAddress): ClusterNode {
    const key = addressKey(address);
    let node = this.#nodes.get(key);
    if (node === undefined) {
      node = this.#make(address);
      this.#nodes.set(key, node);
    }
    return node;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#closing.abort();
    await Promise.all([...this.#nodes.values()].map(({ client }) => client.close()));
  }

  #make(address: NodeAddress): ClusterNode {
    const { random } = this.#options;
    const events = {
      down: () => this.refresh(node),
      refused: (_: string, failure: CallFailure) => this.onRefused(node, failure),
    };
    const client = ownedClient(driveNode(this.#driver, address), { timers: this.#timers, random, events });
    const pubSubMode = (): PubSubMode => this.pubSubMode;
    const { clock } = this.#timers;
    const node: ClusterNode = new ClusterNode(address, client, clock, this.#options, pubSubMode);
    return node;
  }

  async #prepare(): Promise<CallFailure | null> {
    const failure = await this.#map.read();
    if (failure === null) await this.#choice.make();
    return failure;
  }

  #changed(): void {
    const nowMs = this.#timers.clock.monotonicMs();
    const owners = new Set(this.#map.owners.map(addressKey));
    for (const [key, node] of this.#nodes) {
      const sinceMs = this.#idleSinceMs.get(node);
      if (owners.has(key)) this.#idleSinceMs.delete(node);
      else if (sinceMs === undefined) this.#idleSinceMs.set(node, nowMs);
      else if (nowMs - sinceMs > IDLE_MS_MAX) {
        this.#nodes.delete(key);
        this.#idleSinceMs.delete(node);
        void node.client.close();
      }
    }
    this.onChange();
  }

  #within(work: Promise<CallFailure | null>, timeoutMs: number): Promise<CallFailure | null> {
    const found = work.catch((error: unknown) => new CallFailure('unreachable', String(error), '', error));
    const text = `the nodes of the cluster were not found within ${inMs(timeoutMs)}`;
    return within(this.#timers, found, timeoutMs, () => new CallFailure('unreachable', text));
  }
}
