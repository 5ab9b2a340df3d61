/** Everything that one embedded node has: its clock, its databases, its scripts, its connections. */
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { Channels } from './channels.ts';
import { NodeConnection, type Peer } from './connection.ts';
import { type Entry, KeySpace, type Moment, type Value } from './key-space.ts';
import type { ScriptEngine } from './script-engine.ts';
import type { LoadedScript } from './script-text.ts';

const DATABASES = 16;

/** As a fresh redis-server has them. They are kept and shown; none of them is obeyed. */
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

/** What a node holds at a moment, as a file on its disk would. */
export class NodeSnapshot {
  readonly databases: readonly (readonly (readonly [key: string, entry: Entry])[])[];

  constructor(databases: readonly KeySpace[]) {
    this.databases = databases.map((keys) => [...keys.entries()].map(([key, entry]) => [key, copyOf(entry)]));
  }
}

export class NodeState implements Moment {
  readonly clock: Clock;
  readonly #random: Random;
  readonly channels: Channels = new Channels();
  readonly connections: Set<NodeConnection> = new Set();
  readonly settings: Map<string, string> = new Map(SETTINGS);
  readonly commandCounts: Map<string, number> = new Map();
  /** Loaded scripts by their SHA-1. */
  readonly scripts: Map<string, LoadedScript> = new Map();
  databases: readonly KeySpace[] = [];
  /** Loaded before the first command that needs it. */
  engine: ScriptEngine | null = null;
  runId = '';
  #startedMs = 0;
  #skewMs = 0;
  #wallMs = 0;
  #nowUs = 0;
  #connectionsMade = 0;
  #isPaused = false;
  #held: (() => void)[] = [];

  constructor(clock: Clock, random: Random) {
    this.clock = clock;
    this.#random = random;
    this.start();
  }

  /** Milliseconds since 1970 by the node's clock, at the beginning of the present command. */
  get nowMs(): number {
    return Math.floor(this.#wallMs);
  }

  /** The same in microseconds. A clock of milliseconds is helped out: no two commands come at the same one. */
  get nowUs(): number {
    return this.#nowUs;
  }

  get uptimeMs(): number {
    return this.clock.monotonicMs() - this.#startedMs;
  }

  /** Reads the clock. Within a command, and so within a script, time stands still. */
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

  /** Begins anew, as a process does: with what a snapshot holds or with nothing, and always without scripts. */
  start(snapshot?: NodeSnapshot): void {
    for (const connection of [...this.connections]) {
      // At once: a socket tells its end a turn later, and must not hear from the next life.
      this.disconnect(connection);
      connection.peer.close();
    }
    this.scripts.clear();
    this.commandCounts.clear();
    this.runId = this.#random.token() + this.#random.token().slice(0, 8);
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

  /** Stands still from now on: what is asked is done when it goes on. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    for (const run of this.#held.splice(0)) this.admit(run);
  }

  /** Runs it now, or in its turn once the node goes on. */
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

  /** The connection is gone, and everything that it listened to. */
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
