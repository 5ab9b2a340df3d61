/** Watches one server: whether it answers, how fast, its clock, and what INFO says. The locks on it are read by a lane. */
import type { ServerCard, ServerHealth, ServerRole } from '../../api/types.ts';
import type { Disturbance } from '../locks/inference.ts';
import { repeat } from '../pace.ts';
import { cardFigures, type Rates, ratesBetween } from './card-figures.ts';
import { RoundTrips } from './round-trips.ts';
import { Series, STEP_MS } from './series.ts';
import { healthAfter, isForbidden, type ServerConnection } from './server-connection.ts';
import { disturbanceBetween, type Facts, factsOf, type InfoLines, readInfo } from './server-facts.ts';

const TIME_EVERY_MS = 1_000;
const INFO_EVERY_MS: number = STEP_MS;
/** Until the first answer: the page is empty without it. */
const INFO_FIRST_MS = 500;

/** Facts of the last two minutes: a look that failed for longer says nothing of how holds ended. */
const FACTS_MAX = 64;

/** Mute for longer than this is not busy any more. */
const MUTE_MS_MAX = 10_000;

/** What a lane adds to the history of its server. */
export interface LaneFigures {
  readonly locksHeld: number;
  readonly waiting: number;
  readonly longestWaitSeconds: number | null;
  readonly changesPerSecond: number;
}

export interface WatchTerms {
  /** Known before it says so itself. */
  readonly role: ServerRole;
  /** Used where the server has no maxmemory; bytes. */
  readonly memoryLimit: () => number | null;
  readonly now: () => number;
  /** Something of the card has changed. */
  readonly changed: () => void;
}

export class ServerWatch {
  readonly connection: ServerConnection;
  readonly roundTrips: RoundTrips = new RoundTrips();
  readonly series: Series = new Series();
  /** What the user of the sampler may not do, by command. */
  readonly forbidden: Set<string> = new Set();
  lane: (() => LaneFigures) | null = null;
  readonly #terms: WatchTerms;
  readonly #stop = new AbortController();
  #health: ServerHealth = 'down';
  #healthSince: number;
  #trouble: string | null = 'not reached yet';
  #seenAt: number | null = null;
  #muteSince: number | null = null;
  #info: InfoLines | null = null;
  #rates: Rates | null = null;
  #ratesAt: { readonly at: number; readonly info: InfoLines; readonly sent: number } | null = null;
  #replicasSeenMax = 0;
  #facts: { readonly at: number; readonly facts: Facts; readonly address: string }[] = [];
  #asking: Promise<void> | null = null;

  constructor(connection: ServerConnection, terms: WatchTerms) {
    this.connection = connection;
    this.#terms = terms;
    this.#healthSince = terms.now();
  }

  start(): void {
    const { signal } = this.#stop;
    this.connection.open();
    void repeat(
      () => TIME_EVERY_MS,
      () => this.#time(),
      signal,
    );
    void repeat(
      () => (this.#info === null ? INFO_FIRST_MS : INFO_EVERY_MS),
      () => this.askInfo(),
      signal,
    );
  }

  close(): void {
    this.#stop.abort();
    this.connection.close();
  }

  get id(): string {
    return this.connection.address;
  }

  get health(): ServerHealth {
    return this.#health;
  }

  get info(): InfoLines | null {
    return this.#info;
  }

  /** The server's time as ours. */
  toOurs(serverMs: number): number {
    return Math.round(serverMs - (this.roundTrips.offset?.ms ?? 0));
  }

  /** INFO now, or the answer of one that is under way. Never rejects. */
  askInfo(): Promise<void> {
    this.#asking ??= this.#askInfo().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  /** When the last INFO that was answered was sent; `null`: none was. */
  get factsAt(): number | null {
    return this.#facts.at(-1)?.at ?? null;
  }

  /** What happened to the server since that moment of our clock, as far as INFO has said. */
  disturbanceSince(at: number): Disturbance | null {
    const last = this.#facts.at(-1);
    const before = this.#facts.findLast((one) => one.at <= at) ?? this.#facts[0];
    if (last === undefined || before === undefined) return null;
    return disturbanceBetween(before.facts, last.facts, before.address !== last.address);
  }

  /** A call that is about the whole server failed or went well. */
  report(error: unknown): void {
    const now = this.#terms.now();
    if (error === null) {
      this.#seenAt = now;
      this.#muteSince = null;
      this.#become('up', null);
      return;
    }
    let { health, trouble } = healthAfter(error);
    if (health === 'busy') {
      this.#muteSince ??= now;
      if (trouble.startsWith('no answer') && now - this.#muteSince > MUTE_MS_MAX) health = 'down';
    }
    this.#become(health, trouble);
  }

  #become(health: ServerHealth, trouble: string | null): void {
    if (health !== this.#health) {
      this.#health = health;
      this.#healthSince = this.#terms.now();
    }
    this.#trouble = trouble;
    this.#terms.changed();
  }

  async #time(): Promise<void> {
    const sentMs = this.#terms.now();
    try {
      const time = (await this.connection.call('TIME')) as readonly [string, string];
      const serverMs = Number(time[0]) * 1000 + Number(time[1]) / 1000;
      this.roundTrips.add(sentMs, this.#terms.now(), serverMs);
      this.report(null);
    } catch (error) {
      if (isForbidden(error)) this.forbidden.add('time');
      this.report(error);
    }
  }

  async #askInfo(): Promise<void> {
    const at = this.#terms.now();
    try {
      const info = readInfo(String(await this.connection.call('INFO', 'everything')));
      this.#info = info;
      this.#facts = [
        ...this.#facts.slice(1 - FACTS_MAX),
        { at, facts: factsOf(info), address: this.connection.address },
      ];
      this.#addFigures(at, info);
      this.report(null);
    } catch (error) {
      if (isForbidden(error)) this.forbidden.add('info');
      else this.report(error);
    }
  }

  /** Rates and history at their own pace: INFO is also asked for in between. */
  #addFigures(at: number, info: InfoLines): void {
    this.#replicasSeenMax = Math.max(this.#replicasSeenMax, this.card().replicas ?? 0);
    const before = this.#ratesAt;
    if (before !== null && at - before.at < INFO_EVERY_MS * 0.8) return;
    const { sent } = this.connection;
    if (before !== null) {
      this.#rates = ratesBetween(before.info, info, (at - before.at) / 1000, sent - before.sent);
    }
    this.#ratesAt = { at, info, sent };
    const card = this.card();
    const lane = this.lane?.();
    this.series.add(at, {
      ...card,
      ...this.#rates,
      ...lane,
      memoryShare: share(card.memoryUsed, card.memoryLimit),
      clientsShare: share(card.clients, card.clientsLimit),
      fragmentation: Number(info.get('mem_fragmentation_ratio') ?? Number.NaN),
    });
    this.#terms.changed();
  }

  card(): ServerCard {
    const { offset } = this.roundTrips;
    const isUp = this.#health === 'up';
    return {
      id: this.id,
      role: this.#terms.role,
      ...cardFigures(
        this.#info,
        this.#terms.memoryLimit(),
        this.#replicasSeenMax,
        this.factsAt ?? this.#terms.now(),
      ),
      health: this.#health,
      healthSince: this.#healthSince,
      trouble: this.#trouble,
      seenAt: this.#seenAt,
      guardedUntil: null,
      cpu: this.#rates?.cpu ?? null,
      commandsPerSecond: this.#rates?.commandsPerSecond ?? null,
      ownCommandsPerSecond: this.#rates?.ownCommandsPerSecond ?? null,
      roundTripP50Ms: isUp ? this.roundTrips.quantile(0.5) : null,
      roundTripP99Ms: isUp ? this.roundTrips.quantile(0.99) : null,
      clockOffsetMs: offset?.ms ?? null,
      clockErrorMs: offset?.errorMs ?? null,
    };
  }
}

function share(part: number | null, whole: number | null): number | null {
  return part === null || whole === null || whole <= 0 ? null : part / whole;
}
