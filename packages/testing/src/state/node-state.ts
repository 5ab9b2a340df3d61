/**
 * The state of one embedded node: its clock, databases, loaded scripts and connections.
 *
 * In this folder: what a node remembers: keys, subscriptions, connections. Only `commands/`, `node/` and `index.ts`
 * import from here.
 */
import type { Clock, Random } from 'holdfast';
import type { ScriptEngine } from '../lua/script-engine.ts';
import type { LoadedScript } from '../lua/script-text.ts';
import { Channels } from './channels.ts';
import { NodeConnection, type Peer } from './connection.ts';
import { type Entry, KeySpace, type Moment, type Value } from './key-space.ts';

const DATABASES = 16;

/** Settings as a fresh redis-server has them. CONFIG stores and shows them; the node obeys none of them. */
const SETTINGS: readonly (readonly [string, string])[] = [
  ['appendonly', 'no'],
  ['databases', String(DATABASES)],
  ['maxmemory', '0'],
  ['maxmemory-policy', 'noeviction'],
  ['min-replicas-to-write', '0'],
  ['notify-keyspace-events', ''],
  ['save', ''],
  ['timeout', '0'],
];

/** The keys of a node at one moment, as a dump on disk would keep them. */
export class NodeSnapshot {
  readonly databases: readonly (readonly (readonly [key: string, entry: Entry])[])[];

  constructor(databases: readonly KeySpace[]) {
    this.databases = databases.map((keys) => [...keys.entries()].map(([key, entry]) => [key, copyOf(entry)]));
  }
}

/** The part of `Random` that makes the `run_id` of a node. Tokens begin with 32 hexadecimal digits. */
export type RunIdSource = Pick<Random, 'token'>;

export class NodeState implements Moment {
  readonly clock: Clock;
  readonly #random: RunIdSource;
  readonly channels: Channels = new Channels();
  readonly connections: Set<NodeConnection> = new Set();
  readonly settings: Map<string, string> = new Map(SETTINGS);
  readonly commandCounts: Map<string, number> = new Map();
  /** Loaded scripts by their SHA-1. */
  readonly scripts: Map<string, LoadedScript> = new Map();
  databases: readonly KeySpace[] = [];
  /** Null until the first command: the engine is loaded then. */
  engine: ScriptEngine | null = null;
  runId = '';
  #startedMs = 0;
  #skewMs = 0;
  #wallMs = 0;
  #nowUs = 0;
  #connectionsMade = 0;
  #isPaused = false;
  #held: (() => void)[] = [];

  constructor(clock: Clock, random: RunIdSource) {
    this.clock = clock;
    this.#random = random;
    this.start();
  }

  /** Milliseconds since 1970 by the node's clock, when the current command began. */
  get nowMs(): number {
    return Math.floor(this.#wallMs);
  }

  /** The same in microseconds. Two commands within one millisecond get different microseconds, as on a real server. */
  get nowUs(): number {
    return this.#nowUs;
  }

  get uptimeMs(): number {
    return this.clock.monotonicMs() - this.#startedMs;
  }

  /** Reads the clock, once for each command: within a command, and so within a script, the time does not change. */
  tick(): void {
    this.#wallMs = this.clock.wallMs() + this.#skewMs;
    const us = Math.floor(this.#wallMs * 1000);
    const lastOfMsUs = this.nowMs * 1000 + 999;
    const isSameMs = Math.floor(this.#nowUs / 1000) === this.nowMs;
    this.#nowUs = isSameMs ? Math.min(Math.max(us, this.#nowUs + 1), lastOfMsUs) : us;
  }

  /** Sets the node's wall clock forward or back. */
  jump(ms: number): void {
    this.#skewMs += ms;
    this.tick();
  }

  /** Starts the node again, as a new server process: with the keys of a snapshot or with none, and without scripts. */
  start(snapshot?: NodeSnapshot): void {
    for (const connection of [...this.connections]) {
      // Before the peer closes: a socket reports its end only a turn later, and must get nothing of the restarted node.
      this.disconnect(connection);
      connection.peer.close();
    }
    this.scripts.clear();
    this.commandCounts.clear();
    this.runId = this.#random.token().slice(0, 32) + this.#random.token().slice(0, 8);
    this.#startedMs = this.clock.monotonicMs();
    this.tick();
    this.databases = Array.from({ length: DATABASES }, () => new KeySpace(this));
    for (const [index, entries] of (snapshot?.databases ?? []).entries()) {
      for (const [key, entry] of entries) {
        const { value, expiresAtMs } = copyOf(entry);
        this.databases[index]?.put(key, value, expiresAtMs);
      }
    }
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Requests that arrive from now on run when the node resumes. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    for (const run of this.#held.splice(0)) this.admit(run);
  }

  /** Runs a request now, or after `resume` in the order of arrival. */
  admit(run: () => void): void {
    if (this.#isPaused) this.#held.push(run);
    else run();
  }

  connect(peer: Peer): NodeConnection {
    this.#connectionsMade += 1;
    const connection = new NodeConnection(this.#connectionsMade, peer, this.clock.monotonicMs());
    this.connections.add(connection);
    return connection;
  }

  /** Forgets a connection and its subscriptions. */
  disconnect(connection: NodeConnection): void {
    this.channels.leave(connection);
    this.connections.delete(connection);
  }

  countCommand(name: string): void {
    this.commandCounts.set(name, (this.commandCounts.get(name) ?? 0) + 1);
  }
}

function copyOf({ id, value, expiresAtMs }: Entry): Entry {
  return { id, value: copyOfValue(value), expiresAtMs };
}

function copyOfValue(value: Value): Value {
  switch (value.type) {
    case 'string':
      return { type: 'string', bytes: value.bytes };
    case 'hash':
      return { type: 'hash', fields: new Map(value.fields) };
    case 'list':
      return { type: 'list', items: [...value.items] };
    case 'set':
      return { type: 'set', members: new Set(value.members) };
    case 'zset':
      return { type: 'zset', scores: new Map(value.scores) };
  }
}
