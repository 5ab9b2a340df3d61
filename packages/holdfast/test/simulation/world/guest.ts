/**
 * Somebody who takes the lock and knows nothing of a line, by true time and over a good network. On a lock a client like
 * Redisson: takes the key when it is free, deletes it, publishes on the public channel and listens there while it waits. On
 * a mutex a poller.
 */
import type { NodeConnection } from '../../../../testing/src/state/connection.ts';
import type { Prng } from './prng.ts';
import type { SimulatedNode } from './simulated-node.ts';
import type { Timeline } from './timeline.ts';

const LEASE_MS = 30_000;
const WORKS_MS: readonly number[] = [1, 10, 60];
/** 0: takes the key again right after it has given it back, before anybody who is woken by that can. */
const PAUSES_MS: readonly number[] = [0, 5, 50, 300];
const WAY_MS: readonly number[] = [0.2, 0.5, 1];
/** How often a poller looks. */
const POLL_MS: readonly number[] = [3, 8, 20];
/** A waiter that hears nothing looks again after this. */
const LOOK_MS = 2_000;

/** How long a guest works, and does something else. */
export interface GuestHabits {
  readonly worksMs: readonly number[];
  readonly pausesMs: readonly number[];
}

const HABITS: GuestHabits = { worksMs: WORKS_MS, pausesMs: PAUSES_MS };

export interface GuestWorld {
  readonly timeline: Timeline;
  note(who: string, what: string): void;
  /** The guest has the lock from now on. */
  entered(guest: Guest): void;
  /** The guest is about to give it back. */
  left(guest: Guest): void;
}

/** The world that guests are invited to. */
export interface HostWorld {
  readonly timeline: Timeline;
  readonly nodes: readonly SimulatedNode[];
  readonly names: readonly string[];
  readonly judge: { guestEntered(name: string): void; guestLeft(name: string): void };
  readonly resource: { read(name: string): number; write(name: string, value: number): void };
  note(who: string, what: string): void;
}

/** One or two guests for each name, who count their visits as all owners do. */
export function inviteGuests(
  { timeline, nodes, names, judge, resource, note }: HostWorld,
  { kind }: { readonly kind: 'lock' | 'mutex' },
  prng: Prng,
): Guest[] {
  const read = new Map<Guest, number>();
  const world: GuestWorld = {
    timeline,
    note,
    entered: (guest) => {
      read.set(guest, resource.read(guest.lock));
      judge.guestEntered(guest.lock);
    },
    left: (guest) => {
      resource.write(guest.lock, (read.get(guest) ?? 0) + 1);
      judge.guestLeft(guest.lock);
    },
  };
  return names.flatMap((name) =>
    Array.from(
      { length: prng.between(1, 2) },
      () => new Guest(world, nodes[0] as SimulatedNode, prng.fork(), kind, name),
    ),
  );
}

export class Guest {
  readonly lock: string;
  readonly #world: GuestWorld;
  readonly #node: SimulatedNode;
  readonly #prng: Prng;
  readonly #kind: 'lock' | 'mutex';
  readonly #id: string;
  readonly #channel: string;
  readonly #habits: GuestHabits;
  #connection: NodeConnection | null = null;
  /** Since when it waits, and null while it does not. */
  waitsSinceMs: number | null = null;
  #waits = 0;
  /** From the moment that it takes the key until it has given it back. */
  #hasKey = false;
  #isOver = false;

  constructor(
    world: GuestWorld,
    node: SimulatedNode,
    prng: Prng,
    kind: 'lock' | 'mutex',
    lock: string,
    habits = HABITS,
  ) {
    this.#habits = habits;
    this.#world = world;
    this.#node = node;
    this.#prng = prng;
    this.#kind = kind;
    this.lock = lock;
    const uuid = prng.uuid();
    // Of version 4, as Java's are; and the value of another library.
    this.#id = kind === 'lock' ? `${uuid.slice(0, 14)}4${uuid.slice(15)}:1` : uuid.replaceAll('-', '');
    this.#channel = `redisson_lock__channel:{${lock}}`;
    this.#pause();
  }

  get isListener(): boolean {
    return this.#kind === 'lock';
  }

  /** Whether the node has it as the owner although it gave the key back: a restart has forgotten that. */
  get isRevived(): boolean {
    return !this.#hasKey && this.#isOwner();
  }

  /** Takes nothing any more, and hangs up when it holds nothing. */
  stop(): void {
    this.#isOver = true;
    this.#waits += 1;
    this.waitsSinceMs = null;
    this.#hangUp();
  }

  #pause(): void {
    this.#world.timeline.after(this.#prng.pick(this.#habits.pausesMs), () => {
      if (this.#isOver) return;
      this.waitsSinceMs = this.#world.timeline.nowMs;
      this.#ask();
    });
  }

  #ask(): void {
    this.#waits += 1;
    const wait = this.#waits;
    this.#request(() => {
      if (wait !== this.#waits || this.waitsSinceMs === null) return;
      if (this.#take()) {
        this.#hasKey = true;
        this.#hangUp();
        this.#hold();
      } else this.#wait();
    });
  }

  #take(): boolean {
    const node = this.#node;
    if (this.#kind === 'mutex')
      return node.operate('SET', this.lock, this.#id, 'NX', 'PX', String(LEASE_MS)) !== null;
    if (node.operate('EXISTS', this.lock) !== 0) return false;
    node.operate('HSET', this.lock, this.#id, '1');
    node.operate('PEXPIRE', this.lock, String(LEASE_MS));
    return true;
  }

  #wait(): void {
    const wait = this.#waits;
    const lookMs = this.isListener ? LOOK_MS : this.#prng.pick(POLL_MS);
    if (this.isListener && this.#connection === null) {
      this.#listen();
      this.#ask();
      return;
    }
    this.#world.timeline.after(lookMs, () => {
      if (wait === this.#waits) this.#ask();
    });
  }

  #listen(): void {
    const connection = this.#node.connect({
      address: 'guest',
      deliver: () => this.#heard(),
      close: () => this.#hangUp(),
    });
    connection.protocol = 3;
    this.#connection = connection;
    this.#node.command(connection, 'SUBSCRIBE', this.#channel);
  }

  #heard(): void {
    const wait = this.#waits;
    this.#world.timeline.after(this.#wayMs(), () => {
      if (wait === this.#waits && this.waitsSinceMs !== null) this.#ask();
    });
  }

  #hold(): void {
    this.waitsSinceMs = null;
    this.#world.note('guest', `has ${this.lock}`);
    this.#world.entered(this);
    this.#world.timeline.after(this.#prng.pick(this.#habits.worksMs), () => {
      this.#world.left(this);
      this.#release();
    });
  }

  #release(): void {
    this.#request(() => {
      const node = this.#node;
      const owner = this.#isOwner();
      this.#hasKey = false;
      this.#world.note('guest', `releases ${this.lock}${owner ? '' : ', which is gone'}`);
      if (owner) node.operate('DEL', this.lock);
      if (owner && this.#kind === 'lock') node.operate('PUBLISH', this.#channel, '0');
      // It does nothing before it knows that it has.
      this.#world.timeline.after(this.#wayMs(), () => {
        if (!this.#isOver) this.#pause();
      });
    });
  }

  #isOwner(): boolean {
    if (this.#kind === 'lock') return this.#node.operate('HEXISTS', this.lock, this.#id) === 1;
    return String(this.#node.operate('GET', this.lock)) === this.#id;
  }

  #hangUp(): void {
    if (this.#connection !== null) this.#node.state.disconnect(this.#connection);
    this.#connection = null;
  }

  /** Does something at the node, after the way there; later if the node is down. */
  #request(run: () => void): void {
    this.#world.timeline.after(this.#wayMs(), () => {
      this.#node.perform(() => {
        if (this.#node.isUp) run();
        else this.#world.timeline.after(LOOK_MS / 20, () => this.#request(run));
      });
    });
  }

  #wayMs(): number {
    return this.#prng.pick(WAY_MS) + this.#prng.fraction() / 8;
  }
}
