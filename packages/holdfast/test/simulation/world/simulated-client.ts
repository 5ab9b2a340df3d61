/** The seam of `Locks` over a link of the simulated world. */
import {
  CallFailure,
  CLIENT,
  type Client,
  type Reply,
  type ScriptCall,
  type StopListening,
  type Timer,
  type Wake,
} from '../../../src/index.ts';
import { toText } from '../../../src/testing/bytes.ts';
import type { NodeConnection } from '../../../src/testing/connection.ts';
import { type NodeReply, Push } from '../../../src/testing/reply.ts';
import { Link, type LinkWeather } from './connection.ts';
import type { Machine } from './machine.ts';
import type { Prng } from './prng.ts';
import type { SimulatedNode } from './simulated-node.ts';
import type { Timeline } from './timeline.ts';

export interface ClientWorld {
  readonly timeline: Timeline;
  readonly machine: Machine;
  readonly node: SimulatedNode;
  readonly prng: Prng;
}

export interface ClientManners {
  /** Whether it listens on a connection of its own. */
  readonly hasEar: boolean;
  /** Whether calls without an answer are sent again over the next connection, as some clients do. */
  readonly resends: boolean;
  /** Told of every script that is asked for. */
  readonly onSent: (call: ScriptCall) => void;
  /** Told of every script that a node runs, with what it answered. */
  readonly onServed: (call: ScriptCall, answer: Reply | CallFailure) => void;
}

type Answer = Reply | CallFailure;

interface Pending {
  readonly link: Link;
  readonly serve: (connection: NodeConnection) => Answer;
  readonly end: (answer: Answer) => void;
  isWritten: boolean;
}

export class SimulatedClient implements Client {
  readonly [CLIENT] = true as const;
  readonly description: string;
  readonly keyPrefix = '';
  readonly link: Link;
  /** The connection that messages come on: another one, or the same. */
  readonly ear: Link;
  readonly #machine: Machine;
  readonly #manners: ClientManners;
  readonly #pending = new Set<Pending>();
  readonly #wakes = new Map<string, Set<Wake>>();
  /** How many are about to listen. */
  readonly #listening = new Map<string, number>();
  #isClosed = false;

  constructor(world: ClientWorld, weather: LinkWeather, manners: ClientManners) {
    this.description = world.node.name;
    this.#machine = world.machine;
    this.#manners = manners;
    const connected = (link: () => Link) => () => world.timeline.after(0, () => this.#connected(link()));
    const hear = (reply: NodeReply): void => this.#hear(reply);
    this.link = new Link(world, weather, {
      up: connected(() => this.link),
      down: () => this.#lost(this.link),
      message: hear,
    });
    this.ear = manners.hasEar
      ? new Link(world, weather, {
          up: connected(() => this.ear),
          down: () => this.#lost(this.ear),
          message: hear,
        })
      : this.link;
  }

  /** For the weather: any of its connections may be hit. */
  get links(): readonly Link[] {
    return this.ear === this.link ? [this.link] : [this.link, this.ear];
  }

  get isConnected(): boolean {
    return !this.#isClosed && this.link.isWritable;
  }

  get connections(): number {
    return this.link.connections;
  }

  run(call: ScriptCall, timeoutMs: number): Promise<Answer> {
    this.#manners.onSent(call);
    return this.#ask(this.link, timeoutMs, (connection) => {
      const answer = this.link.node.run(connection, call);
      this.#manners.onServed(call, answer);
      return answer;
    });
  }

  async listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    this.#listening.set(channel, (this.#listening.get(channel) ?? 0) + 1);
    const answer = await this.#ask(this.ear, timeoutMs, (connection) => this.#subscribe(connection, channel));
    this.#listening.set(channel, (this.#listening.get(channel) ?? 0) - 1);
    if (answer instanceof CallFailure) {
      // It may have come about all the same.
      this.#unsubscribe(channel);
      return answer;
    }
    const wakes = this.#wakes.get(channel) ?? new Set<Wake>();
    this.#wakes.set(channel, wakes);
    const own: Wake = (message) => wake(message);
    wakes.add(own);
    return () => {
      wakes.delete(own);
      if (wakes.size > 0 || this.#wakes.get(channel) !== wakes) return;
      this.#wakes.delete(channel);
      this.#unsubscribe(channel);
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { end, isWritten } of [...this.#pending]) {
      end(new CallFailure(isWritten ? 'unknown' : 'closed', 'the client was closed'));
    }
    this.#wakes.clear();
    for (const link of this.links) link.close();
  }

  /** Unless somebody listens, or is about to. */
  #unsubscribe(channel: string): void {
    if (this.#wakes.has(channel) || this.#listening.get(channel) !== 0) return;
    this.ear.write(
      (connection) => this.ear.node.command(connection, 'UNSUBSCRIBE', channel),
      () => {},
    );
  }

  #ask(link: Link, timeoutMs: number, serve: (connection: NodeConnection) => Answer): Promise<Answer> {
    if (this.#isClosed) return Promise.resolve(new CallFailure('closed', 'the client is closed'));
    if (!(timeoutMs > 0)) return Promise.resolve(new CallFailure('unreachable', 'no time to send it'));
    return new Promise((resolve) => {
      let timer: Timer | null = null;
      const pending: Pending = {
        link,
        serve,
        isWritten: false,
        end: (answer) => {
          if (!this.#pending.delete(pending)) return;
          timer?.cancel();
          resolve(answer);
        },
      };
      this.#pending.add(pending);
      timer = this.#machine.startTimer(Math.ceil(timeoutMs), () => {
        const kind = pending.isWritten ? 'unknown' : 'unreachable';
        pending.end(new CallFailure(kind, `no answer within ${timeoutMs} ms`));
      });
      if (link.isWritable) this.#write(pending);
    });
  }

  /** What comes back for a second copy is no answer to the first, which may still be on its way: as our clients have it. */
  #write(pending: Pending): void {
    const isCopy = pending.isWritten;
    pending.isWritten = true;
    const again = new CallFailure('unknown', 'the connection was lost, and the client sent it again');
    pending.link.write(pending.serve, (answer) => pending.end(isCopy ? again : answer));
  }

  #connected(link: Link): void {
    this.#machine.perform(() => {
      if (!link.isWritable) return;
      for (const [channel, wakes] of link === this.ear ? this.#wakes : []) {
        link.write(
          (connection) => this.#subscribe(connection, channel),
          () => {
            for (const wake of [...wakes]) wake(null);
          },
        );
      }
      for (const pending of [...this.#pending]) {
        if (pending.link === link && (!pending.isWritten || this.#manners.resends)) this.#write(pending);
      }
    });
  }

  #lost(lost: Link): void {
    if (this.#manners.resends) return;
    for (const { end, isWritten, link } of [...this.#pending]) {
      if (isWritten && link === lost) end(new CallFailure('unknown', 'the connection was lost'));
    }
  }

  #subscribe(connection: NodeConnection, channel: string): null {
    this.link.node.command(connection, 'SUBSCRIBE', channel);
    return null;
  }

  #hear(reply: NodeReply): void {
    const [kind, channel, message] = reply instanceof Push ? reply.items : [];
    if (kind !== 'message' || typeof channel !== 'string' || typeof message !== 'string') return;
    for (const wake of [...(this.#wakes.get(toText(channel)) ?? [])]) wake(toText(message));
  }
}
