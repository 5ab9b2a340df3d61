/** Watches one sentinel: whether it answers, and what it says of the primary. */
import type { ServerCard } from '../../api/types.ts';
import { repeat } from '../pace.ts';
import { cardFigures } from './card-figures.ts';
import { healthAfter, type ServerConnection } from './server-connection.ts';

const PING_EVERY_MS = 2_000;
const ASK_EVERY_MS = 10_000;

export class SentinelWatch {
  readonly connection: ServerConnection;
  /** How many must agree, and how many there are, by its own word; `null`: not known. */
  quorum: number | null = null;
  known: number | null = null;
  readonly #primary: string;
  readonly #now: () => number;
  readonly #stop = new AbortController();
  #health: ServerCard['health'] = 'down';
  #since: number;
  #trouble: string | null = 'not reached yet';
  #seenAt: number | null = null;

  constructor(connection: ServerConnection, primary: string, now: () => number) {
    this.connection = connection;
    this.#primary = primary;
    this.#now = now;
    this.#since = now();
  }

  start(): void {
    this.connection.open();
    const { signal } = this.#stop;
    void repeat(
      () => PING_EVERY_MS,
      () => this.#try(async () => void (await this.connection.call('PING'))),
      signal,
    );
    void repeat(
      () => (this.quorum === null ? PING_EVERY_MS : ASK_EVERY_MS),
      () => this.#try(() => this.#ask()),
      signal,
    );
  }

  close(): void {
    this.#stop.abort();
    this.connection.close();
  }

  get isUp(): boolean {
    return this.#health === 'up';
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#seenAt = this.#now();
      this.#become('up', null);
    } catch (error) {
      const { health, trouble } = healthAfter(error);
      this.#become(health, trouble);
    }
  }

  #become(health: ServerCard['health'], trouble: string | null): void {
    if (health !== this.#health) this.#since = this.#now();
    this.#health = health;
    this.#trouble = trouble;
  }

  async #ask(): Promise<void> {
    const reply = (await this.connection.call('SENTINEL', 'MASTER', this.#primary)) as readonly string[];
    const value = (name: string): number | null => {
      const at = reply.indexOf(name);
      return at < 0 ? null : Number(reply[at + 1]);
    };
    this.quorum = value('quorum');
    const others = value('num-other-sentinels');
    this.known = others === null ? null : others + 1;
  }

  card(): ServerCard {
    return {
      id: this.connection.name,
      role: 'sentinel',
      ...cardFigures(null, null, 0, 0),
      health: this.#health,
      healthSince: this.#since,
      trouble: this.#trouble,
      seenAt: this.#seenAt,
      guardedUntil: null,
      cpu: null,
      commandsPerSecond: null,
      ownCommandsPerSecond: null,
      roundTripP50Ms: null,
      roundTripP99Ms: null,
      clockOffsetMs: null,
      clockErrorMs: null,
    };
  }
}
