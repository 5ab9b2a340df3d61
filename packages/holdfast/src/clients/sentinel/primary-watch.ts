/**
 * Hears from the sentinels when another server becomes the primary.
 *
 * A planned failover leaves the old primary in its office for some ten seconds, in which it takes writes that are lost
 * afterwards: whoever stays with it holds locks that others hold elsewhere. A primary that froze keeps its connections
 * too. So all sentinels are listened to while there is a connection to a primary; the one that leads the failover tells
 * it first. Nothing of this keeps the process alive.
 */
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import type { Wire, WireEvents } from '../connection/raw-connection.ts';
import { Link } from '../connection/reconnecting-connection.ts';
import type { PrimaryMemory } from './primary-memory.ts';
import { type Address, PrimarySearch, type Sentinels } from './search.ts';

const CHANNEL = '+switch-master';

/** How long after a sentinel was lost it is tried again. There are others meanwhile. */
const RETRY_MS = 1_000;

/**
 * How long a sentinel may take to let us in, at first. A socket that is still connecting keeps the process alive, whatever
 * it is told, so one that nobody answers must go soon; and soon is longer the next time, for those who are far away.
 */
const PATIENCE_MS_MIN = 500;
const PATIENCE_MS_MAX = 2_000;

/** How long after that it is tried again: most of the time no socket is connecting. */
const UNANSWERED_RETRY_MS = 10_000;

/** How long a look around may take: one that waits for silent sentinels would keep the next one from being taken. */
const LOOK_MS_MAX = 2_000;

interface EarNews {
  /** From now on nothing is missed. */
  readonly listening: () => void;
  /** `<name> <old host> <old port> <new host> <new port>` */
  readonly heard: (text: string) => void;
}

/** One sentinel that is listened to. */
class Ear {
  readonly #timers: TimerQueue;
  readonly #link: Link;
  readonly #retry = new Deadline(() => this.#open(), false);
  readonly #patience = new Deadline(() => this.#giveUp(), false);
  #patienceMs = PATIENCE_MS_MIN;

  constructor(sentinels: Sentinels, address: Address, timers: TimerQueue, news: EarNews) {
    this.#timers = timers;
    const dial = (events: WireEvents): Wire => {
      const wire = sentinels.dialSentinel(address, events);
      // Before it has a socket: some clients hide one that is still being let in.
      wire.hold(false);
      return wire;
    };
    this.#link = new Link({ dial }, timers, {
      up: (wire) => {
        timers.cancel(this.#patience);
        this.#patienceMs = PATIENCE_MS_MIN;
        // Refused or lost: the others tell us, and the next connection asks again.
        wire.subscribe(CHANNEL).then(news.listening, () => {});
      },
      down: () => {
        timers.cancel(this.#patience);
        timers.setIn(this.#retry, RETRY_MS);
      },
      message: (channel, text) => {
        if (channel === CHANNEL) news.heard(text);
      },
    });
    this.#link.hold(false);
    this.#open();
  }

  close(): void {
    this.#timers.cancel(this.#retry);
    this.#timers.cancel(this.#patience);
    this.#link.close();
  }

  #open(): void {
    this.#timers.setIn(this.#patience, this.#patienceMs);
    this.#link.open();
  }

  #giveUp(): void {
    this.#patienceMs = Math.min(this.#patienceMs * 2, PATIENCE_MS_MAX);
    this.#link.close();
    this.#timers.setIn(this.#retry, UNANSWERED_RETRY_MS);
  }
}

export class PrimaryWatch {
  readonly #sentinels: Sentinels;
  readonly #timers: TimerQueue;
  readonly #memory: PrimaryMemory;
  readonly #tell: (primary: Address) => void;
  #ears: Ear[] = [];
  #search: PrimarySearch | null = null;
  #isLookWanted = false;

  constructor(
    sentinels: Sentinels,
    timers: TimerQueue,
    memory: PrimaryMemory,
    tell: (primary: Address) => void,
  ) {
    this.#sentinels = sentinels;
    this.#timers = timers;
    this.#memory = memory;
    this.#tell = tell;
  }

  open(): void {
    if (this.#ears.length > 0) return;
    const news: EarNews = { listening: () => this.#look(), heard: (text) => this.#hear(text) };
    const { addresses } = this.#sentinels;
    this.#ears = addresses.map((address) => new Ear(this.#sentinels, address, this.#timers, news));
  }

  close(): void {
    for (const ear of this.#ears.splice(0)) ear.close();
    this.#search?.cancel();
    this.#search = null;
    this.#isLookWanted = false;
  }

  #hear(text: string): void {
    const [name, oldHost = '', oldPort, host, port] = text.split(' ');
    if (name !== this.#sentinels.name || host === undefined) return;
    const primary = { host, port: Number(port) };
    this.#memory.hear({ host: oldHost, port: Number(oldPort) }, primary);
    this.#tell(primary);
  }

  /** What happened before it listened was not heard, and one that looks already may have asked before that. */
  #look(): void {
    if (this.#ears.length === 0) return;
    this.#isLookWanted = this.#search !== null;
    if (this.#search !== null) return;
    const tools = { timers: this.#timers, memory: this.#memory, limitMs: LOOK_MS_MAX };
    const search = new PrimarySearch(this.#sentinels, tools);
    this.#search = search;
    const end = (primary: Address | null): void => {
      if (this.#search !== search) return;
      this.#search = null;
      if (primary !== null) this.#tell(primary);
      if (this.#isLookWanted) this.#look();
    };
    search.result.then(end, () => end(null));
  }
}
