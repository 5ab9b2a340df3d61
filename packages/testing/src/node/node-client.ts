/** The client of an embedded node inside the process: the `Client` interface of holdfast, without a socket. */
import {
  CallFailure,
  CLIENT,
  type Client,
  type Reply,
  type ScriptCall,
  type StopListening,
  type Wake,
} from 'holdfast';
import { TIMER_MS_MAX } from '../clock/system-clock.ts';
import { execute } from '../commands/dispatch.ts';
import { toBytes, toText } from '../protocol/bytes.ts';
import { plainValue } from '../protocol/plain-value.ts';
import { ErrorReply, isList, type NodeReply, Push } from '../protocol/reply.ts';
import type { NodeConnection } from '../state/connection.ts';
import type { NodeState } from '../state/node-state.ts';

/** The name of holdfast's connections in CLIENT LIST, whichever client they go through. */
const CONNECTION_NAME = 'holdfast';

/** What the client needs of its node. */
export interface NodeHost {
  readonly state: NodeState;
  readonly isClosed: boolean;
  /** Resolves when scripts can be run. */
  ready(): Promise<void>;
}

type Answer = NodeReply | CallFailure;

class NodeClient implements Client {
  readonly [CLIENT] = true as const;
  readonly description = 'embedded node';
  readonly keyPrefix = '';
  readonly #host: NodeHost;
  readonly #wakes = new Map<string, Set<Wake>>();
  /** Functions that end the calls which wait for a paused node. */
  readonly #waiting = new Set<(answer: Answer) => void>();
  #connection: NodeConnection | null = null;
  #connections = 0;
  #isClosed = false;

  constructor(host: NodeHost) {
    this.#host = host;
  }

  get isConnected(): boolean {
    return !this.#isClosed && !this.#host.isClosed;
  }

  /** The number of connections so far: a restart of the node ends a connection. */
  get connections(): number {
    return this.#connections;
  }

  async run(call: ScriptCall, timeoutMs: number): Promise<Reply | CallFailure> {
    const { script, keys, args } = call;
    const rest = [String(keys.length), ...keys, ...args].map(toBytes);
    const answer = await this.#ask(timeoutMs, () => {
      const reply = this.#execute(['EVALSHA', script.sha, ...rest]);
      if (!(reply instanceof ErrorReply) || reply.word !== 'NOSCRIPT') return reply;
      return this.#execute(['EVAL', toBytes(script.source), ...rest]);
    });
    if (answer instanceof CallFailure) return answer;
    // The scripts of holdfast reply in these shapes only.
    return plainValue(answer) as Reply;
  }

  async listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    const name = toBytes(channel);
    const answer = await this.#ask(timeoutMs, () => this.#execute(['SUBSCRIBE', name]));
    if (answer instanceof CallFailure) return answer;
    const wakes = this.#wakes.get(name) ?? new Set<Wake>();
    this.#wakes.set(name, wakes);
    // A wrapper for each call: the same function may listen twice and stop once.
    const own: Wake = (message) => wake(message);
    wakes.add(own);
    return () => {
      wakes.delete(own);
      if (wakes.size > 0 || this.#wakes.get(name) !== wakes) return;
      this.#wakes.delete(name);
      if (this.#connection !== null) this.#execute(['UNSUBSCRIBE', name]);
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const end of [...this.#waiting]) end(new CallFailure('unknown', 'the client was closed'));
    this.#wakes.clear();
    if (this.#connection !== null) this.#host.state.disconnect(this.#connection);
    this.#connection = null;
  }

  async #ask(timeoutMs: number, request: () => NodeReply): Promise<Answer> {
    const refused = this.#refusal(timeoutMs);
    if (refused !== null) return refused;
    if (this.#host.state.engine === null) await this.#host.ready();
    const answer = this.#host.state.isPaused ? await this.#wait(timeoutMs, request) : request();
    if (answer instanceof ErrorReply) return new CallFailure('reply', toText(answer.text), answer.word);
    return answer;
  }

  /** The node is paused: it runs the request after `resume`, even if the caller has timed out by then. */
  #wait(timeoutMs: number, request: () => NodeReply): Promise<Answer> {
    const { clock } = this.#host.state;
    return new Promise((resolve) => {
      const end = (answer: Answer): void => {
        this.#waiting.delete(end);
        timer.cancel();
        resolve(answer);
      };
      const timer = clock.startTimer(Math.min(timeoutMs, TIMER_MS_MAX), () =>
        end(new CallFailure('unknown', `no answer within ${inMs(timeoutMs)}`)),
      );
      this.#waiting.add(end);
      this.#host.state.admit(() => {
        if (!this.#isClosed) end(request());
      });
    });
  }

  /** Why a call is not sent at all, or null when it can be sent. */
  #refusal(timeoutMs: number): CallFailure | null {
    if (this.#isClosed) return new CallFailure('closed', 'the client is closed');
    if (this.#host.isClosed) return new CallFailure('unreachable', 'the embedded node is closed');
    if (timeoutMs > 0) return null;
    return new CallFailure('unreachable', `no time to send it: the limit is ${inMs(timeoutMs)}`);
  }

  #execute(request: readonly string[]): NodeReply {
    this.#connection ??= this.#connect();
    return execute(this.#host.state, this.#connection, request);
  }

  #connect(): NodeConnection {
    const { state } = this.#host;
    this.#connections += 1;
    const connection = state.connect({
      address: 'in-process:0',
      deliver: (reply) => this.#hear(reply),
      close: () => this.#reconnect(connection),
    });
    connection.name = CONNECTION_NAME;
    connection.protocol = 3;
    return connection;
  }

  /** The node has ended the connection: a restart, or CLIENT KILL. Listeners get null, as messages may be missing. */
  #reconnect(lost: NodeConnection): void {
    this.#host.state.disconnect(lost);
    this.#connection = null;
    queueMicrotask(() => {
      if (!this.isConnected) return;
      for (const [channel, wakes] of [...this.#wakes]) {
        this.#execute(['SUBSCRIBE', channel]);
        for (const wake of [...wakes]) wake(null);
      }
    });
  }

  #hear(reply: NodeReply): void {
    const items = reply instanceof Push ? reply.items : isList(reply) ? reply : [];
    const [kind, channel, message] = items;
    if (kind !== 'message' || typeof channel !== 'string' || typeof message !== 'string') return;
    // Later, never while the publishing script runs: no real client delivers a message that early either.
    queueMicrotask(() => {
      for (const wake of [...(this.#wakes.get(channel) ?? [])]) wake(toText(message));
    });
  }
}

function inMs(ms: number): string {
  return `${Math.round(ms)} ms`;
}

export function nodeClient(host: NodeHost): Client {
  return new NodeClient(host);
}
