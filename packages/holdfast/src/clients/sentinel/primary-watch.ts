/**
 * Hears from the sentinels when another server becomes the primary.
 *
 * After a planned failover the old primary goes on taking writes for some ten seconds, and these writes are lost
 * afterwards: whoever stays with it holds locks that others hold elsewhere. A primary that froze keeps its connections
 * too. So all sentinels are listened to while there is a connection to a primary; the sentinel that leads the failover
 * tells it first. Nothing of this keeps the process alive.
 */
import { Backoff } from '../../runtime/backoff.ts';
import { Deadline, type TimerQueue } from '../../runtime/timer-queue.ts';
import type { RawConnection, RawConnectionEvents } from '../connection/raw-connection.ts';
import { ReconnectingConnection } from '../connection/reconnecting-connection.ts';
import type { Address } from './address.ts';
import type { PrimaryMemory } from './primary-memory.ts';
import { PrimarySearch, type Sentinels } from './search.ts';

const CHANNEL = '+switch-master';

/** How long after a sentinel was lost it is tried again. There are others meanwhile. */
const RETRY_MS = 1_000;

/**
 * How long a sentinel may take to let us in, at first. A socket that is still connecting keeps the process alive, unref'd
 * or not, so an attempt that gets no answer must end soon; and later the next time, for sentinels that are far away.
 */
const CONNECT_MS_MIN = 500;
const CONNECT_MS_MAX = 2_000;

/** How long after that the sentinel is tried again: most of the time no socket is connecting. */
const UNANSWERED_RETRY_MS = 10_000;

/** How long a search beside the watch may take: a search that waits for silent sentinels would delay the next one. */
const SEARCH_MS_MAX = 2_000;

interface ListenerEvents {
  /** From now on no message is missed. */
  readonly listening: () => void;
  /** The text is `<name> <old host> <old port> <new host> <new port>`. */
  readonly switched: (text: string) => void;
}

/** Listens to one sentinel. */
class SentinelListener {
  readonly #timers: TimerQueue;
  readonly #connection: ReconnectingConnection;
  readonly #retry = new Deadline(() => this.#open(), false);
  readonly #connectDeadline = new Deadline(() => this.#giveUp(), false);
  readonly #connectBackoff = new Backoff(null, { minMs: CONNECT_MS_MIN, maxMs: CONNECT_MS_MAX });
  #connectMs = this.#connectBackoff.nextMs();

  constructor(sentinels: Sentinels, address: Address, timers: TimerQueue, events: ListenerEvents) {
    this.#timers = timers;
    const dial = (raw: RawConnectionEvents, signal: AbortSignal): Promise<RawConnection> =>
      sentinels.dialSentinel(address, raw, signal);
    this.#connection = new ReconnectingConnection({ dial }, timers, {
      up: ({ raw }) => {
        timers.cancel(this.#connectDeadline);
        this.#connectBackoff.reset();
        this.#connectMs = this.#connectBackoff.nextMs();
        // Refused or lost: the other sentinels tell us, and the next connection subscribes again.
        raw.subscribe(CHANNEL, 'plain').then(events.listening, () => {});
      },
      down: () => {
        timers.cancel(this.#connectDeadline);
        timers.setIn(this.#retry, RETRY_MS);
      },
      message: (channel, text) => {
        if (channel === CHANNEL) events.switched(text);
      },
    });
    this.#open();
  }

  close(): void {
    this.#timers.cancel(this.#retry);
    this.#timers.cancel(this.#connectDeadline);
    this.#connection.close();
  }

  #open(): void {
    this.#timers.setIn(this.#connectDeadline, this.#connectMs);
    this.#connection.open();
  }

  #giveUp(): void {
    this.#connectMs = this.#connectBackoff.nextMs();
    this.#connection.close();
    this.#timers.setIn(this.#retry, UNANSWERED_RETRY_MS);
  }
}

export class PrimaryWatch {
  readonly #sentinels: Sentinels;
  readonly #timers: TimerQueue;
  readonly #memory: PrimaryMemory;
  readonly #tell: (primary: Address) => void;
  #listeners: SentinelListener[] = [];
  #search: PrimarySearch | null = null;
  #isSearchWanted = false;

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
    if (this.#listeners.length > 0) return;
    const events: ListenerEvents = {
      listening: () => this.#searchAgain(),
      switched: (text) => this.#switched(text),
    };
    this.#listeners = this.#sentinels.addresses.map(
      (address) => new SentinelListener(this.#sentinels, address, this.#timers, events),
    );
  }

  close(): void {
    for (const listener of this.#listeners.splice(0)) listener.close();
    this.#search?.cancel();
    this.#search = null;
    this.#isSearchWanted = false;
  }

  #switched(text: string): void {
    const [name, oldHost = '', oldPort, host, port] = text.split(' ');
    if (name !== this.#sentinels.name || host === undefined) return;
    const primary = { host, port: Number(port) };
    this.#memory.switched({ host: oldHost, port: Number(oldPort) }, primary);
    this.#tell(primary);
  }

  /**
   * A switch from before a sentinel was listened to was not heard, so the sentinels are asked. A search that is under
   * way may have asked before the switch: then another one follows it.
   */
  #searchAgain(): void {
    if (this.#listeners.length === 0) return;
    this.#isSearchWanted = this.#search !== null;
    if (this.#search !== null) return;
    const tools = { timers: this.#timers, memory: this.#memory, limitMs: SEARCH_MS_MAX };
    const search = new PrimarySearch(this.#sentinels, tools);
    this.#search = search;
    const end = (primary: Address | null): void => {
      if (this.#search !== search) return;
      this.#search = null;
      if (primary !== null) this.#tell(primary);
      if (this.#isSearchWanted) this.#searchAgain();
    };
    search.result.then(end, () => end(null));
  }
}
