/** The seam of `Locks` over a socket of the simulated world. */
import { toText } from '../../../../testing/src/protocol/bytes.ts';
import { type NodeReply, Push } from '../../../../testing/src/protocol/reply.ts';
import type { NodeConnection } from '../../../../testing/src/state/connection.ts';
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
import type { Machine } from './machine.ts';
import type { MessageFaults } from './message-faults.ts';
import type { Prng } from './prng.ts';
import type { SimulatedNode } from './simulated-node.ts';
import { type NetworkConditions, SimulatedSocket } from './socket.ts';
import type { Timeline } from './timeline.ts';

export interface ClientParts {
  readonly timeline: Timeline;
  readonly machine: Machine;
  readonly node: SimulatedNode;
  readonly prng: Prng;
  readonly messages: MessageFaults;
}

export interface ClientBehaviour {
  /** Whether it listens on a connection of its own. */
  readonly hasSubscriber: boolean;
  /** Whether calls without an answer are sent again over the next connection, as some clients do. */
  readonly resends: boolean;
  /** Told of every script that is asked for. */
  readonly onSent: (call: ScriptCall) => void;
  /** Told of every answer, or its absence. */
  readonly onAnswered: (call: ScriptCall, answer: Reply | CallFailure) => void;
  /** Told of every script that a node is about to run. */
  readonly onArrived: (call: ScriptCall) => void;
  /** Told when it has subscribed again to where the session hears of its grants. */
  readonly onResynced: () => void;
  /** Told of every script that a node runs, with what it answered. */
  readonly onServed: (call: ScriptCall, answer: Reply | CallFailure) => void;
}

type Answer = Reply | CallFailure;

interface Pending {
  readonly socket: SimulatedSocket;
  readonly serve: (connection: NodeConnection) => Answer;
  readonly end: (answer: Answer) => void;
  isWritten: boolean;
}

export class SimulatedClient implements Client {
  readonly [CLIENT] = true as const;
  readonly description: string;
  readonly keyPrefix = '';
  readonly socket: SimulatedSocket;
  /** The connection that messages come on: another one, or the same. */
  readonly subscriber: SimulatedSocket;
  /** For fault injection: what becomes of messages. */
  readonly messages: MessageFaults;
  readonly #machine: Machine;
  readonly #behaviour: ClientBehaviour;
  readonly #pending = new Set<Pending>();
  readonly #wakes = new Map<string, Set<Wake>>();
  /** How many are about to listen. */
  readonly #listening = new Map<string, number>();
  #isClosed = false;

  constructor(world: ClientParts, network: NetworkConditions, behaviour: ClientBehaviour) {
    this.description = world.node.name;
    this.#machine = world.machine;
    this.messages = world.messages;
    this.#behaviour = behaviour;
    const connected = (socket: () => SimulatedSocket) => () =>
      world.timeline.after(0, () => this.#connected(socket()));
    const hear = (reply: NodeReply): void => this.#hear(reply);
    this.socket = new SimulatedSocket(world, network, {
      up: connected(() => this.socket),
      down: () => this.#lost(this.socket),
      message: hear,
    });
    this.subscriber = behaviour.hasSubscriber
      ? new SimulatedSocket(world, network, {
          up: connected(() => this.subscriber),
          down: () => this.#lost(this.subscriber),
          message: hear,
        })
      : this.socket;
  }

  /** For fault injection: any of its connections may be hit. */
  get sockets(): readonly SimulatedSocket[] {
    return this.subscriber === this.socket ? [this.socket] : [this.socket, this.subscriber];
  }

  get isConnected(): boolean {
    return !this.#isClosed && this.socket.isWritable;
  }

  get connections(): number {
    return this.socket.connections;
  }

  async run(call: ScriptCall, timeoutMs: number): Promise<Answer> {
    this.#behaviour.onSent(call);
    const heard = await this.#ask(this.socket, timeoutMs, (connection) => {
      this.#behaviour.onArrived(call);
      const answer = this.socket.node.run(connection, call);
      this.#behaviour.onServed(call, answer);
      return answer;
    });
    this.#behaviour.onAnswered(call, heard);
    return heard;
  }

  async listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    this.#listening.set(channel, (this.#listening.get(channel) ?? 0) + 1);
    const answer = await this.#ask(this.subscriber, timeoutMs, (connection) =>
      this.#subscribe(connection, channel),
    );
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
    for (const socket of this.sockets) socket.close();
  }

  /** Unless somebody listens, or is about to. */
  #unsubscribe(channel: string): void {
    if (this.#wakes.has(channel) || this.#listening.get(channel) !== 0) return;
    this.subscriber.write(
      (connection) => this.subscriber.node.command(connection, 'UNSUBSCRIBE', channel),
      () => {},
    );
  }

  #ask(
    socket: SimulatedSocket,
    timeoutMs: number,
    serve: (connection: NodeConnection) => Answer,
  ): Promise<Answer> {
    if (this.#isClosed) return Promise.resolve(new CallFailure('closed', 'the client is closed'));
    if (!(timeoutMs > 0)) return Promise.resolve(new CallFailure('unreachable', 'no time to send it'));
    return new Promise((resolve) => {
      let timer: Timer | null = null;
      const pending: Pending = {
        socket,
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
      if (socket.isWritable) this.#write(pending);
    });
  }

  /** What comes back for a second copy is no answer to the first, which may still be on its way: as our clients have it. */
  #write(pending: Pending): void {
    const isCopy = pending.isWritten;
    pending.isWritten = true;
    const again = new CallFailure('unknown', 'the connection was lost, and the client sent it again');
    pending.socket.write(pending.serve, (answer) => pending.end(isCopy ? again : answer));
  }

  #connected(socket: SimulatedSocket): void {
    this.#machine.perform(() => {
      if (!socket.isWritable) return;
      for (const [channel, wakes] of socket === this.subscriber ? this.#wakes : []) {
        socket.write(
          (connection) => this.#subscribe(connection, channel),
          () => {
            if (channel.startsWith('holdfast_session:')) this.#behaviour.onResynced();
            for (const wake of [...wakes]) wake(null);
          },
        );
      }
      for (const pending of [...this.#pending]) {
        if (pending.socket === socket && (!pending.isWritten || this.#behaviour.resends))
          this.#write(pending);
      }
    });
  }

  #lost(lost: SimulatedSocket): void {
    if (this.#behaviour.resends) return;
    for (const { end, isWritten, socket } of [...this.#pending]) {
      if (isWritten && socket === lost) end(new CallFailure('unknown', 'the connection was lost'));
    }
  }

  #subscribe(connection: NodeConnection, channel: string): null {
    this.socket.node.command(connection, 'SUBSCRIBE', channel);
    return null;
  }

  #hear(reply: NodeReply): void {
    const [kind, channel, message] = reply instanceof Push ? reply.items : [];
    if (kind !== 'message' || typeof channel !== 'string' || typeof message !== 'string') return;
    for (const wake of [...(this.#wakes.get(toText(channel)) ?? [])]) wake(toText(message));
  }
}
