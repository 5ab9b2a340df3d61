/**
 * What our scripts do to keys, as their headers say it, in a few lines of memory. It stands in for a server in
 * unit tests of the client code only: it proves nothing about Redis or about the Lua. Those have tests of their own.
 */
import type { Reply, ScriptCall } from '../../../src/clients/client.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import { OUTCOMES } from '../../../src/scripts/outcome.ts';
import { ScriptedChannels } from './scripted-channels.ts';
import { type ScriptedAddress, ScriptedLine } from './scripted-line.ts';

interface Entry {
  readonly kind: 'lock' | 'mutex';
  readonly owner: string;
  count: number;
  expiresMs: number;
}

/** What a script is given of one lock. */
interface Keys {
  readonly kind: Entry['kind'];
  readonly key: string;
  /** The counter of fences, which a mutex does not have. */
  readonly fence?: string | undefined;
}

/** Far from both times of a fake clock, so that code which takes one for the other goes wrong at once. */
const EPOCH_MS = Date.UTC(2028, 5, 1);

/** A guest: it knows no line. */
const STRANGER = 'stranger:1';

/** How far a block of fences may go beyond the server's time, in µs. */
const FENCES_AHEAD = 1_000;

/** For how long a free key is left to guests. */
const WINDOW_MS = 5;

/** Sessions of ours are UUIDs of version 8, and so are those of a test; tokens of mutexes say whose they are. */
const OURS = /^[0-9a-f]+-[0-9a-f]+-8|^[0-9a-f]+:holdfast$/;

export class ScriptedServer {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #fences = new Map<string, number>();
  readonly #lines = new Map<string, ScriptedLine>();
  readonly channels: ScriptedChannels = new ScriptedChannels();
  #offsetMs = EPOCH_MS;
  /** Every grant in the order in which it took effect; a repeated one is not told again. */
  readonly grants: { readonly key: string; readonly owner: string; readonly firstFence: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The server's own time, to a fraction of a millisecond. */
  get timeMs(): number {
    return this.#clock.monotonicMs() + this.#offsetMs;
  }

  /** Somebody sets the server's clock. What has an expiry then ends sooner or later, as on a real one. */
  jump(ms: number): void {
    this.#offsetMs += ms;
  }

  /** Who has the key now, or null. */
  owner(key: string): string | null {
    return this.#find(key)?.owner ?? null;
  }

  count(key: string): number {
    return this.#find(key)?.count ?? 0;
  }

  ttlMs(key: string): number {
    const entry = this.#find(key);
    return entry === undefined ? -2 : Math.ceil(entry.expiresMs - this.timeMs);
  }

  get keys(): string[] {
    return [...this.#entries.keys()].filter((key) => this.#find(key) !== undefined);
  }

  /** Who waits in the line for that key, in order. */
  line(key: string): string[] {
    const tickets = this.#lines.get(key)?.tickets ?? [];
    return tickets.filter(({ deadlineMs }) => deadlineMs >= this.timeMs).map(({ holder }) => holder);
  }

  /** For how long the key, once it is free, is left to guests. */
  leaveToGuests(key: string, lengthMs: number): void {
    this.#line(key).open(lengthMs, this.timeMs);
  }

  /** Somebody who is not one of this test's processes takes the lock: a guest, or a session of ours. */
  occupy(key: string, ttlMs: number, owner = STRANGER): void {
    this.#entries.set(key, { kind: 'lock', owner, count: 1, expiresMs: this.timeMs + ttlMs });
  }

  /** Somebody deletes the key by hand: no message. */
  delete(key: string): boolean {
    return this.#entries.delete(key);
  }

  /** Runs the script. */
  execute({ script, keys, args }: ScriptCall): Reply {
    const [key = ''] = keys;
    const [owner = '', second = '', third = ''] = args;
    switch (script.name) {
      case 'lock.acquire':
        return this.#acquireLock(keys, args);
      case 'mutex.acquire':
        return this.#acquireMutex(key, args);
      case 'lock.recount':
        return this.#recount(key, owner, Number(second), args[3] === '1' ? 0 : Number(third));
      case 'lock.release':
        return this.#release({ key, fence: keys[1], kind: 'lock' }, args);
      case 'mutex.release':
        return this.#release({ key, kind: 'mutex' }, args);
      case 'lock.renew':
        return keys
          .filter((_, i) => i % 2 === 0)
          .map((each, i) => this.#renew(each, args[4 * i] ?? '', Number(args[4 * i + 1])));
      case 'mutex.renew':
        return keys.map((each, i) => this.#renew(each, args[2 * i] ?? '', Number(args[2 * i + 1])));
      default:
        throw new Error(`the scripted server does not know ${script.name}`);
    }
  }

  #acquireLock([key = '', fence = '']: readonly string[], args: readonly string[]): Reply {
    const [owner = '', lease = '', fenceCount = '', , notAfter = '', wantsTime = '', , ticket = ''] = args;
    const [leaseMs, fences, notAfterMs] = [Number(lease), Number(fenceCount), Number(notAfter)];
    const nowMs = Math.floor(this.timeMs);
    if (notAfterMs > 0 && nowMs > notAfterMs) return [OUTCOMES.LATE, nowMs];
    // Without its time, and with all its fences, the grant is a bare integer.
    const granted = (first: number, given: number, tickets = 0): Reply => {
      const isBare = wantsTime === '0' && given === fences && tickets === 0;
      return isBare ? first : [OUTCOMES.GRANTED, nowMs, first, given, tickets];
    };
    const found = this.#find(key);
    if (found !== undefined && found.kind !== 'lock') return [OUTCOMES.CONFLICT, nowMs, 'a string'];
    const last = this.#fences.get(fence);
    if (found?.owner === owner && last !== undefined) {
      found.expiresMs = Math.max(found.expiresMs, this.timeMs + leaseMs);
      return granted(last, 1, this.#keepUnowned(key, owner, ticket));
    }
    const held = this.#holdBack({ key, fence, kind: 'lock' }, owner, ticket, leaseMs, fences);
    if (held !== null) return held;
    const [first, given] = this.#grant({ key, fence, kind: 'lock' }, owner, fences, leaseMs);
    return granted(first, given, this.#keepUnowned(key, owner, ticket));
  }

  #acquireMutex(key: string, [owner = '', lease = '', notAfter = '', ticket = '']: readonly string[]): Reply {
    const [leaseMs, notAfterMs] = [Number(lease), Number(notAfter)];
    const nowMs = Math.floor(this.timeMs);
    if (notAfterMs > 0 && nowMs > notAfterMs) return [OUTCOMES.LATE, nowMs];
    const found = this.#find(key);
    if (found?.owner === owner) found.expiresMs = Math.max(found.expiresMs, this.timeMs + leaseMs);
    else {
      const held = this.#holdBack({ key, kind: 'mutex' }, owner, ticket, leaseMs, 1);
      if (held !== null) return held;
      this.#grant({ key, kind: 'mutex' }, owner, 1, leaseMs);
    }
    const tickets = this.#keepUnowned(key, owner, ticket);
    return tickets === 0 ? nowMs : [OUTCOMES.GRANTED, nowMs, tickets];
  }

  #keepUnowned(key: string, holder: string, ticket: string): number {
    return ticket === '' || ticket === '-' ? 0 : this.#line(key).keepUnowned(holder, ticket);
  }

  /** The answer to who does not get the key now. Null: the key is free for this holder. */
  #holdBack(lock: Keys, holder: string, stated: string, leaseMs: number, fences: number): Reply | null {
    const { key } = lock;
    const nowMs = Math.floor(this.timeMs);
    const known = stated === '-' ? undefined : this.#lines.get(key);
    if (this.#find(key) === undefined && known === undefined) return null;
    const joins = stated !== '' && stated !== '-';
    const line = joins ? this.#line(key) : known;
    const place = joins ? (line?.join(holder, stated, leaseMs, fences, this.timeMs) ?? 0) : 0;
    const tickets = joins ? (line?.tickets.length ?? 0) : 0;
    const isFree = this.#find(key) === undefined && line !== undefined;
    const openMs = isFree ? Math.ceil(line.openMs(this.timeMs)) : 0;
    if (isFree) {
      const outcome = this.#settle(lock, line, holder);
      if (outcome === 'asker' || (outcome === 'nobody' && place === 0)) {
        line.leave(holder);
        line.run += 1;
        return null;
      }
    }
    const owner = this.owner(key) ?? '';
    const lingering = known?.lingering;
    if (lingering?.holder === owner) this.#tell(lingering, `w ${lingering.echo}`);
    const isGuest = owner === '' || OURS.test(owner) ? 0 : 1;
    const shown = lock.kind === 'mutex' ? owner.slice(0, 8) : owner;
    return [OUTCOMES.HELD, nowMs, this.ttlMs(key), shown, place, tickets, openMs, isGuest];
  }

  /** Gives a free key to the first ticket whose process hears of it. The one who asks needs no message. */
  #settle(lock: Keys, line: ScriptedLine, asker: string): 'asker' | 'given' | 'open' | 'nobody' {
    if (line.openMs(this.timeMs) > 0) return 'open';
    for (const ticket of [...line.tickets]) {
      if (ticket.holder === asker) return 'asker';
      if (ticket.deadlineMs < this.timeMs) {
        line.leave(ticket.holder);
        this.#tell(ticket, `a ${ticket.echo} 0`);
      } else if (this.#hears(ticket)) {
        const [first, count] = this.#grant(lock, ticket.holder, ticket.fences, ticket.claimMs);
        line.leave(ticket.holder);
        line.run += 1;
        this.#tell(ticket, `g ${ticket.echo} ${first} ${count}`);
        return 'given';
      }
    }
    return 'nobody';
  }

  #hears({ mode, channel }: ScriptedAddress): boolean {
    return mode === 'b' || (mode !== 'n' && this.channels.listeners(channel) > 0);
  }

  #tell({ mode, channel }: ScriptedAddress, message: string): void {
    if (mode !== 'n') this.channels.publish(channel, message);
  }

  /** Makes somebody the owner. Returns the first of its fences and how many there are. */
  #grant({ key, fence, kind }: Keys, owner: string, fences: number, forMs: number): [number, number] {
    const nowUs = Math.floor(this.timeMs * 1000);
    const first = fence === undefined ? 0 : Math.max((this.#fences.get(fence) ?? 0) + 1, nowUs);
    const last = Math.max(first, Math.min(first + fences - 1, nowUs + FENCES_AHEAD));
    if (fence !== undefined) this.#fences.set(fence, last);
    this.#entries.set(key, { kind, owner, count: 1, expiresMs: this.timeMs + forMs });
    this.grants.push({ key, owner, firstFence: first });
    return fence === undefined ? [0, 0] : [first, last - first + 1];
  }

  #recount(key: string, owner: string, count: number, leaseMs: number): Reply {
    const found = this.#find(key);
    if (found?.owner !== owner) return [OUTCOMES.GONE];
    found.count = count;
    found.expiresMs = Math.max(found.expiresMs, this.timeMs + leaseMs);
    return [OUTCOMES.COUNTED];
  }

  #release(lock: Keys, [owner = '', channel = '', mode = '', isVote = '']: readonly string[]): Reply {
    const { key } = lock;
    const wasOwner = this.#find(key)?.owner === owner;
    if (wasOwner) this.#entries.delete(key);
    const line = isVote === '1' ? undefined : this.#lines.get(key);
    const left = line?.leave(owner) ?? 0;
    const receivers = line === undefined ? null : this.#goOn(lock, line, wasOwner, left, channel);
    if (!wasOwner) return [left > 0 ? OUTCOMES.LEFT : OUTCOMES.GONE];
    if (receivers !== null) return receivers;
    const heard = mode === 'nobody' ? 0 : this.channels.publish(channel);
    if (heard > 0 && isVote !== '1' && lock.kind === 'lock') this.#line(key).open(WINDOW_MS, this.timeMs);
    return heard;
  }

  /** What follows in the line when a holder has gone. Returns how many heard on the public channel. */
  #goOn(lock: Keys, line: ScriptedLine, wasOwner: boolean, left: number, channel: string): number {
    const first = line.tickets.find((ticket) => this.#hears(ticket));
    if (this.#find(lock.key) !== undefined) {
      // The next in line listens to the public channel only while it is among the first two.
      if (first !== undefined && left > 0 && left <= 2) this.#tell(first, `a ${first.echo} 0`);
      return 0;
    }
    const listeners = this.channels.listeners(channel);
    if (wasOwner && listeners > 0 && line.run >= Math.max(1, (line.tickets.length + 1) / listeners)) {
      line.open(WINDOW_MS, this.timeMs);
      const heard = this.channels.publish(channel);
      // The first in line for a lock listens with the guests.
      if (first !== undefined) this.#tell(first, `a ${first.echo} ${lock.kind === 'lock' ? 0 : WINDOW_MS}`);
      return heard;
    }
    if (this.#settle(lock, line, '') !== 'nobody') return 0;
    const heard = this.channels.publish(channel);
    if (heard === 0 && line.tickets.length === 0) this.#lines.delete(lock.key);
    return heard;
  }

  #line(key: string): ScriptedLine {
    const line = this.#lines.get(key) ?? new ScriptedLine();
    this.#lines.set(key, line);
    return line;
  }

  #renew(key: string, owner: string, leaseMs: number): number {
    const found = this.#find(key);
    if (found?.owner !== owner) return OUTCOMES.GONE;
    found.expiresMs = Math.max(found.expiresMs, this.timeMs + leaseMs);
    return OUTCOMES.RENEWED;
  }

  #find(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.expiresMs > this.timeMs) return entry;
    this.#entries.delete(key);
    return undefined;
  }
}
