/** A client process of the simulated world: a machine, a socket to each node, and the shipped `Locks` on top. */
import { type Client, Locks, type LocksOptions } from '../../../src/index.ts';
import type { Machine } from './machine.ts';
import type { SimulatedClient } from './simulated-client.ts';

export class SimulatedProcess {
  readonly name: string;
  readonly machine: Machine;
  readonly clients: readonly SimulatedClient[];
  readonly locks: Locks;
  readonly options: LocksOptions;
  #hasClosed = false;
  #isClosed = false;

  constructor(
    name: string,
    machine: Machine,
    clients: readonly SimulatedClient[],
    seams: readonly Client[],
    given: LocksOptions,
  ) {
    this.name = name;
    this.options = given;
    this.machine = machine;
    this.clients = clients;
    // The record of a session decides nothing: it would only make every run longer.
    const options = { application: false, ...given } as const;
    const [only, ...others] = seams;
    this.locks =
      only !== undefined && others.length === 0 ? new Locks(only, options) : new Locks(seams, options);
  }

  get isAlive(): boolean {
    return this.machine.state !== 'dead';
  }

  /** Whether it is gone or has closed while things went wrong: what it could not release is left to its lease. */
  get hasLeft(): boolean {
    return !this.isAlive || this.#hasClosed;
  }

  /** Whether its session has told that it is closed. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(graceMs: number): void {
    this.#hasClosed = true;
    void this.locks.close({ graceMs }).then(() => {
      this.#isClosed = true;
    });
  }

  crash(): void {
    this.machine.die();
    for (const { sockets } of this.clients) for (const socket of sockets) socket.close();
  }

  /** Sleeps by its own clock. Never wakes when it dies. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.machine.startTimer(ms, resolve);
    });
  }
}
