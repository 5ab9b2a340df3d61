/**
 * Sends each call to the node of a cluster that has the slot of its key, wherever that turns out to be.
 *
 * A node that does not serve a call says so before it has run anything, and where to go. That is followed here, and
 * not below, because a call is made for one node: an acquire carries the latest time at which it may be granted, by
 * the clock of the node that it is sent to. What was written and not answered is never sent anywhere else: it may have
 * happened, and its caller repeats it under the same holder or releases that holder.
 */
import { CallFailure } from '../../clients/client.ts';
import type { ServerFailure } from '../../errors.ts';
import { slotOf } from '../../keys/slot.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import { sleep } from '../../runtime/timers.ts';
import type { HoldTerms, Protocol, Statement } from '../protocol.ts';
import type { Decider, Decision } from '../server/decision.ts';
import { isPassingWord } from '../server/reply-words.ts';
import type { Server } from '../server/server.ts';
import type { QueryAnswer, QueryCall, ReleaseResult, ReleaseTerms, StateResult } from '../topology.ts';
import type { ClusterNode } from './node.ts';
import type { ClusterNodes } from './nodes.ts';
import { type Refusal, redirectionOf } from './redirection.ts';
import { isTorn, isTornRefusal, refusalOfAll, withOwnKeyOnly } from './torn-keys.ts';

/** Two nodes that send us to each other are both wrong, and will agree in a moment. */
const REDIRECTIONS_MAX = 16;

/** With less time left a certain refusal is worth more than a call whose answer would not come in time. */
const FOLLOW_MS_MIN = 10;

/** The pauses between attempts at keys that are on both sides of a moving slot. */
const AGAIN_MS_MIN = 10;
const AGAIN_MS_MAX = 100;

/** One call, as it is made for whichever node it goes to. */
interface RoutedCall<Result> {
  readonly key: string;
  readonly timeoutMs: number;
  ask(server: Server, leftMs: number): Promise<Result>;
  /** The refusal in a result, which may be a redirection; undefined when the result stands. */
  refusalIn(result: Result): Refusal | undefined;
  /** The result when no node can be asked. */
  refuse(failure: CallFailure): Result;
  /** Whether a call whose keys are on both sides of a moving slot is repeated until they are on one. @default true */
  readonly waitsForMove?: boolean;
}

export class ClusterRouter implements Decider {
  readonly #nodes: ClusterNodes;
  readonly #timers: TimerQueue;

  constructor(nodes: ClusterNodes, timers: TimerQueue) {
    this.#nodes = nodes;
    this.#timers = timers;
  }

  acquire(protocol: Protocol, terms: HoldTerms, timeoutMs: number): Promise<Decision> {
    return this.#route<Decision>({
      key: protocol.key,
      timeoutMs,
      ask: (server, leftMs) => server.acquire(protocol, terms, leftMs),
      // A void grant is given back first, wherever the next attempt would have to go.
      refusalIn: (decision) =>
        decision.is === 'refused' || decision.is === 'unanswered' ? decision.servers[0] : undefined,
      refuse: (failure) => {
        const canRetry = failure.kind === 'unreachable' || isPassingWord(failure.word);
        return { is: 'refused', servers: [this.#failure(failure)], canRetry };
      },
    });
  }

  async release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult> {
    const startedMs = this.#nowMs();
    const isOwnKeyOnly = terms.isOwnKeyOnly === true;
    const result = await this.#route<ReleaseResult>({
      key: protocol.key,
      timeoutMs,
      ask: (server, leftMs) => server.release(protocol, terms, leftMs),
      refusalIn: (released) => (released.is === 'failed' ? released.servers[0] : undefined),
      refuse: (failure) => ({ is: 'failed', servers: [this.#failure(failure)] }),
      waitsForMove: isOwnKeyOnly,
    });
    const leftMs = timeoutMs - (this.#nowMs() - startedMs);
    if (isOwnKeyOnly || leftMs <= 0 || result.is !== 'failed' || !isTornRefusal(result.servers[0]))
      return result;
    return this.release(protocol, { ...terms, isOwnKeyOnly: true }, leftMs);
  }

  /** One call a slot: keys of several slots cannot travel together. */
  async state(statements: readonly Statement[], timeoutMs: number): Promise<readonly StateResult[]> {
    const bySlot = new Map<number, Statement[]>();
    for (const statement of statements) {
      const slot = slotOf(statement.protocol.key);
      const same = bySlot.get(slot);
      if (same === undefined) bySlot.set(slot, [statement]);
      else same.push(statement);
    }
    const results = new Map<Statement, StateResult>();
    const stating = [...bySlot.values()].map(async (same) => {
      const answers = await this.#stateInSlot(same, timeoutMs);
      for (const [i, statement] of same.entries()) results.set(statement, answers[i] as StateResult);
    });
    await Promise.all(stating);
    return statements.map((statement) => results.get(statement) as StateResult);
  }

  async #stateInSlot(statements: readonly Statement[], timeoutMs: number): Promise<readonly StateResult[]> {
    const [first] = statements as [Statement];
    const startedMs = this.#nowMs();
    // A lock's own key alone is on one side of a moving slot.
    const hasOneKey = statements.length === 1 && first.isOwnKeyOnly === true;
    const results = await this.#route<readonly StateResult[]>({
      key: first.protocol.key,
      timeoutMs,
      ask: (server, leftMs) => server.state(statements, leftMs),
      refusalIn: refusalOfAll,
      refuse: (failure) => statements.map(() => ({ is: 'failed', servers: [this.#failure(failure)] })),
      waitsForMove: hasOneKey,
    });
    const leftMs = timeoutMs - (this.#nowMs() - startedMs);
    if (hasOneKey || leftMs <= 0 || !isTorn(results)) return results;
    const alone = statements.map((statement) => this.#stateInSlot([withOwnKeyOnly(statement)], leftMs));
    return (await Promise.all(alone)).flat();
  }

  /** About keys: their node answers. */
  async query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]> {
    const { description } = this.#nodes;
    const unknown = await this.#nodes.ready(timeoutMs);
    if (unknown !== null) return [{ index: 0, server: description, reply: unknown }];
    const [key = '', ...others] = callFor(0, this.#nodes.pubSubMode)?.keys ?? [];
    return this.#route<readonly QueryAnswer[]>({
      key,
      timeoutMs,
      ask: (server, leftMs) => server.query(callFor, leftMs),
      refusalIn: ([answer]) => (answer?.reply instanceof CallFailure ? answer.reply : undefined),
      refuse: (reply) => [{ index: 0, server: description, reply }],
      // Keys of a slot that is moving may be apart for long: whoever asks about several may do without some.
      waitsForMove: others.every((other) => other === key),
    });
  }

  /** Asks the node that has the slot of the key, wherever that turns out to be, within the time that there is. */
  async #route<Result>(call: RoutedCall<Result>): Promise<Result> {
    const giveUpMs = this.#nowMs() + call.timeoutMs;
    const unknown = await this.#nodes.ready(call.timeoutMs);
    if (unknown !== null) return call.refuse(unknown);
    const slot = slotOf(call.key);
    let node = this.#nodes.ownerOf(slot) ?? (await this.#nodes.findOwnerOf(slot, giveUpMs - this.#nowMs()));
    let isAsking = false;
    let result: Result | undefined;
    let againMs = AGAIN_MS_MIN;
    for (let steps = 0; steps < REDIRECTIONS_MAX; steps += 1) {
      const leftMs = giveUpMs - this.#nowMs();
      if (node === null || leftMs <= (result === undefined ? 0 : FOLLOW_MS_MIN)) break;
      result = await call.ask(isAsking ? node.askingServer : node.server, leftMs);
      const refusal = call.refusalIn(result);
      if (refusal === undefined) return result;
      const redirection = redirectionOf(refusal, node.address);
      isAsking = false;
      if (redirection === null) {
        // No answer, or the cluster is down: by the next time another node may have the slot.
        if (refusal.kind === 'unknown' || refusal.text.startsWith('CLUSTERDOWN')) this.#nodes.refresh(node);
        return result;
      }
      if (redirection.is === 'elsewhere') {
        const failed: ClusterNode = node;
        node = await this.#nodes.otherOwnerOf(slot, failed, giveUpMs - this.#nowMs());
        if (node === null) return result;
      } else if (redirection.is === 'again') {
        if (call.waitsForMove === false) return result;
        await sleep(this.#timers, Math.min(againMs, giveUpMs - this.#nowMs()));
        againMs = Math.min(2 * againMs, AGAIN_MS_MAX);
        steps = 0;
        node = this.#nodes.ownerOf(slot);
      } else {
        if (redirection.is === 'moved') this.#nodes.learn(redirection.slot, redirection.to);
        node = this.#nodes.at(redirection.to);
        isAsking = redirection.is === 'ask';
      }
    }
    return result ?? call.refuse(new CallFailure('unreachable', `no node is known to have the slot ${slot}`));
  }

  #nowMs(): number {
    return this.#timers.clock.monotonicMs();
  }

  #failure({ kind, text }: CallFailure): ServerFailure {
    return { server: this.#nodes.description, kind, text };
  }
}
