/** A Redis node in the simulated world: the embedded one, with a clock that drifts and a life that ends. */

import { execute } from '../../../../testing/src/commands/dispatch.ts';
import type { ScriptEngine } from '../../../../testing/src/lua/script-engine.ts';
import { toBytes, toText } from '../../../../testing/src/protocol/bytes.ts';
import { plainValue } from '../../../../testing/src/protocol/plain-value.ts';
import { ErrorReply, type NodeReply } from '../../../../testing/src/protocol/reply.ts';
import type { NodeConnection, Peer } from '../../../../testing/src/state/connection.ts';
import { NodeSnapshot, NodeState } from '../../../../testing/src/state/node-state.ts';
import type { Clock, Reply, ScriptCall } from '../../../src/index.ts';
import { CallFailure } from '../../../src/index.ts';
import type { Prng } from './prng.ts';
import type { Timeline } from './timeline.ts';

/** A message that a node has published, and how many connections it was sent to. */
export interface Published {
  readonly channel: string;
  readonly message: string;
  readonly receivers: number;
}

/** What survives a restart. */
export type Survivor = 'nothing' | 'everything' | 'all but the last second';

const SNAPSHOT_EVERY_MS = 1_000;

export class SimulatedNode {
  readonly name: string;
  readonly state: NodeState;
  readonly #timeline: Timeline;
  #isUp = true;
  #isFrozen = false;
  #waiting: (() => void)[] = [];
  #snapshots: { atMs: number; snapshot: NodeSnapshot }[] = [];
  #runs = 0;
  #published: Published[] = [];

  constructor(
    name: string,
    timeline: Timeline,
    prng: Prng,
    engine: ScriptEngine,
    rate: number,
    wallMs: number,
  ) {
    this.name = name;
    this.#timeline = timeline;
    const clock: Clock = {
      monotonicMs: () => timeline.nowMs * rate,
      wallMs: () => wallMs + timeline.nowMs * rate,
      startTimer: () => {
        throw new Error('a node arms no timers');
      },
    };
    this.state = new NodeState(clock, prng);
    this.state.engine = engine;
    const { channels } = this.state;
    const publish = channels.publish.bind(channels);
    channels.publish = (channel, message) => {
      const receivers = publish(channel, message);
      this.#published.push({ channel, message, receivers });
      return receivers;
    };
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** How many scripts it has run. */
  get runs(): number {
    return this.#runs;
  }

  /** What the last script has published. */
  get published(): readonly Published[] {
    return this.#published;
  }

  /** Does it now, or when it has thawed. */
  perform(run: () => void): void {
    if (this.#isFrozen) this.#waiting.push(run);
    else run();
  }

  freeze(): void {
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#isFrozen = false;
    for (const run of this.#waiting.splice(0)) this.#timeline.after(0, () => this.perform(run));
  }

  connect(peer: Peer): NodeConnection {
    return this.state.connect(peer);
  }

  command(connection: NodeConnection, ...request: readonly string[]): NodeReply {
    return execute(this.state, connection, request.map(toBytes));
  }

  run(connection: NodeConnection, { script, keys, args }: ScriptCall): Reply | CallFailure {
    this.#runs += 1;
    this.#published = [];
    const rest = [String(keys.length), ...keys, ...args];
    let reply = this.command(connection, 'EVALSHA', script.sha, ...rest);
    if (reply instanceof ErrorReply && reply.word === 'NOSCRIPT') {
      reply = this.command(connection, 'EVAL', script.source, ...rest);
    }
    if (reply instanceof ErrorReply) return new CallFailure('reply', toText(reply.text), reply.word);
    return plainValue(reply) as Reply;
  }

  /** A command of somebody at a terminal. */
  operate(...request: readonly string[]): NodeReply {
    const connection = this.connect({ address: 'operator', deliver: () => {}, close: () => {} });
    const reply = this.command(connection, ...request);
    this.state.disconnect(connection);
    return reply;
  }

  /** Keeps copies of the past, for a restart that has lost a second. */
  keepCopies(): void {
    this.#snapshots.push({ atMs: this.#timeline.nowMs, snapshot: new NodeSnapshot(this.state.databases) });
    if (this.#snapshots.length > 3) this.#snapshots.shift();
    this.#timeline.after(SNAPSHOT_EVERY_MS, () => this.keepCopies());
  }

  /** Goes down, and comes back later with what has survived. Connections are cut at once. */
  restart(survivor: Survivor, downMs: number): void {
    if (!this.#isUp) return;
    this.#isUp = false;
    const snapshot = this.#survivor(survivor);
    for (const { peer } of [...this.state.connections]) peer.close();
    this.#timeline.after(downMs, () => {
      this.state.start(snapshot);
      this.#isUp = true;
    });
  }

  #survivor(survivor: Survivor): NodeSnapshot | undefined {
    if (survivor === 'nothing') return undefined;
    if (survivor === 'everything') return new NodeSnapshot(this.state.databases);
    const untilMs = this.#timeline.nowMs - SNAPSHOT_EVERY_MS;
    return this.#snapshots.findLast(({ atMs }) => atMs <= untilMs)?.snapshot;
  }
}
