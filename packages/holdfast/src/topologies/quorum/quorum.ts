/**
 * Several independent servers decide, by majority: Redlock, with fences, and with servers that have just restarted
 * kept from voting. `docs/concepts/quorum.md` tells the algorithm and what it assumes.
 *
 * In this folder: the election of one attempt, the majority that judges answers, and for each server its health, its time
 * limit and what it may still hold for us. Only `topologies/choose.ts` imports from here.
 */
import type { CallFailure, Client, StopListening, Wake } from '../../clients/client.ts';
import { LockConfigError, type ServerFailure } from '../../errors.ts';
import { instantNow } from '../../runtime/instant.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import type { HoldTerms, Protocol, Statement } from '../protocol.ts';
import { GONE } from '../server/server.ts';
import { middleMs } from '../server/server-clock.ts';
import type {
  AcquireResult,
  QueryAnswer,
  QueryCall,
  ReleaseResult,
  ReleaseTerms,
  StateResult,
  Topology,
} from '../topology.ts';
import { QuorumChannel } from './channel.ts';
import { NodeConnector } from './connect-nodes.ts';
import { Election } from './election.ts';
import { count, countPending, decide } from './majority.ts';
import { QuorumNode, type QuorumOptions } from './node.ts';

export class QuorumTopology implements Topology {
  readonly keyPrefix: string;
  readonly size: number;
  readonly majority: number;
  /** Votes are counted here, and no server alone can say who comes first. */
  readonly hasLine = false;
  readonly #nodes: readonly QuorumNode[];
  readonly #timers: TimerQueue;
  readonly #options: QuorumOptions;
  readonly #channels = new Set<QuorumChannel>();
  readonly #connector: NodeConnector;
  #longestLeaseMs: number;
  /** Whether the servers that are up are known to be different servers. */
  #areDistinct = false;

  constructor(clients: readonly Client[], timers: TimerQueue, options: QuorumOptions) {
    this.#nodes = clients.map((client) => new QuorumNode(client, timers, options));
    this.#timers = timers;
    this.#options = options;
    this.#longestLeaseMs = options.leaseMs;
    this.keyPrefix = clients[0]?.keyPrefix ?? '';
    this.size = clients.length;
    this.majority = Math.floor(clients.length / 2) + 1;
    const healths = this.#nodes.map(({ health }) => health);
    this.#connector = new NodeConnector(healths, this.majority, timers);
    for (const node of this.#nodes) {
      node.health.onUp = () => {
        this.#areDistinct = false;
        for (const channel of this.#channels) void channel.join(node);
      };
    }
  }

  get description(): string {
    return this.#nodes.map(({ description }) => description).join(', ');
  }

  get hasAnswered(): boolean {
    return this.#connector.hasAnswered;
  }

  outageOf(): readonly ServerFailure[] {
    const away = this.#nodes.filter((node) => !node.isConnected);
    if (this.size - away.length >= this.majority) return [];
    return away.map(({ description }) => ({
      server: description,
      kind: 'unreachable',
      text: 'the connection was lost',
    }));
  }

  serverTimeMs(monotonicMs: number): number {
    return middleMs(
      this.#nodes.map(({ clock }) => clock),
      monotonicMs,
    );
  }

  mailboxOf(): null {
    return null;
  }

  acquire(protocol: Protocol, terms: HoldTerms, timeoutMs: number): Promise<AcquireResult> {
    this.#noteLease(terms.leaseMs);
    if (this.#connector.isDone() && this.#areDistinct) return this.#elect(protocol, terms, timeoutMs);
    return this.#connector.connect(timeoutMs).then(() => {
      if (!this.#areDistinct) this.#assertDistinct();
      return this.#elect(protocol, terms, timeoutMs);
    });
  }

  #elect(protocol: Protocol, terms: HoldTerms, timeoutMs: number): Promise<AcquireResult> {
    const { clock } = this.#timers;
    return new Election(this.#nodes, this.majority, clock, protocol, terms, timeoutMs).run(this.#guardMs);
  }

  release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult> {
    if (this.#connector.isDone()) return this.#releaseOnAll(protocol, terms, timeoutMs);
    return this.#connector.connect(timeoutMs).then(() => this.#releaseOnAll(protocol, terms, timeoutMs));
  }

  #releaseOnAll(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult> {
    const releases = this.#nodes.map((node) => node.votes.release(protocol, terms, timeoutMs));
    return decide<ReleaseResult, ReleaseResult>(releases, (answers) => {
      const released = count(answers, 'released');
      if (released >= this.majority) return { is: 'released', receivers: mostReceivers(answers) };
      if (released + countPending(answers) >= this.majority) return undefined;
      if (count(answers, 'gone') > this.size - this.majority) return { is: 'gone' };
      if (countPending(answers) > 0) return undefined;
      return { is: 'failed', servers: failuresOf(answers) };
    });
  }

  /** What is gone from a majority may still be on the others: each server knows whether it was asked. */
  abandon(protocol: Protocol, terms: ReleaseTerms): void {
    for (const node of this.#nodes) node.votes.abandon(protocol, terms);
  }

  async state(statements: readonly Statement[], timeoutMs: number): Promise<readonly StateResult[]> {
    for (const { leaseMs } of statements) this.#noteLease(leaseMs);
    await this.#connector.connect(timeoutMs);
    const byNode = this.#nodes.map((node) => stateOn(node, statements, timeoutMs));
    const results = await Promise.all(
      statements.map((_, i) =>
        this.#majorityOf(byNode.map((all) => all.then((answers) => answers[i] as StateResult))),
      ),
    );
    for (const [n, answers] of byNode.entries()) {
      void answers.then((gone) =>
        this.#restore(this.#nodes[n] as QuorumNode, statements, gone, results, timeoutMs),
      );
    }
    return results;
  }

  async listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    const heard = new QuorumChannel(channel, wake, timeoutMs);
    this.#channels.add(heard);
    const stop = (): void => {
      this.#channels.delete(heard);
      heard.close();
    };
    const failure = await heard.open(this.#nodes, this.majority);
    if (failure === null) return stop;
    stop();
    return failure;
  }

  async query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]> {
    await this.#connector.connect(timeoutMs);
    const asking = this.#nodes.map(async (node, index) => {
      const answers = await node.server.query((_, mode) => callFor(index, mode), timeoutMs);
      return answers.map((answer) => ({ ...answer, index }));
    });
    return (await Promise.all(asking)).flat();
  }

  async flush(): Promise<void> {
    await Promise.all(this.#nodes.map(({ votes }) => votes.flush()));
  }

  stop(): void {
    for (const { votes } of this.#nodes) votes.stop();
  }

  async close(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.close()));
  }

  get #guardMs(): number {
    return this.#options.restartGuardMs ?? this.#longestLeaseMs;
  }

  /** The restart guard must know the longest lease that a server may have forgotten, that of an extension included. */
  #noteLease(leaseMs: number): void {
    this.#longestLeaseMs = Math.max(this.#longestLeaseMs, leaseMs);
  }

  /** Two names of one server would be two votes of one server. */
  #assertDistinct(): void {
    const known = new Map<string, QuorumNode>();
    for (const node of this.#nodes) {
      const { runId } = node.health;
      if (runId === null || runId === '') continue;
      const other = known.get(runId);
      if (other !== undefined) {
        const which = `${other.description} and ${node.description}`;
        throw new LockConfigError(`expected independent servers, got one and the same twice: ${which}`);
      }
      known.set(runId, node);
    }
    this.#areDistinct = true;
  }

  /** Kept by a majority; gone when no majority can have the hold any more; otherwise nobody knows, and time decides. */
  #majorityOf(answers: readonly Promise<StateResult>[]): Promise<StateResult> {
    return decide<StateResult, StateResult>(answers, (heard) => {
      if (count(heard, 'kept') >= this.majority) return { is: 'kept' };
      if (count(heard, 'gone') > this.size - this.majority) return goneWith(heard);
      return countPending(heard) > 0 ? undefined : { is: 'failed', servers: failuresOf(heard) };
    });
  }

  /**
   * A server of a minority that has lost the vote gets it again, so that the next fault finds a majority: only while a
   * majority has the hold, and only while it is wanted. By renewals alone: they come again and again.
   */
  #restore(
    node: QuorumNode,
    statements: readonly Statement[],
    answers: readonly StateResult[],
    results: readonly StateResult[],
    timeoutMs: number,
  ): void {
    for (const [i, statement] of statements.entries()) {
      const isRenewal = statement.batch === statement.protocol.renewal;
      const isMissing = answers[i]?.is === 'gone' && results[i]?.is === 'kept';
      if (isRenewal && isMissing && statement.known.isLive && node.health.absence === null) {
        void this.#restoreOn(node, statement, timeoutMs);
      }
    }
  }

  /** The vote, and the fence: whoever counts on this server's vote later must find there what a majority was raised to. */
  async #restoreOn(node: QuorumNode, statement: Statement, timeoutMs: number): Promise<void> {
    const { protocol, holder, leaseMs, known } = statement;
    const terms = { holder, leaseMs, fences: 1 };
    const vote = await node.votes.acquire(protocol, terms, timeoutMs, instantNow(this.#timers.clock));
    if (vote.is !== 'granted' || protocol.fencing === undefined || known.lastFence === undefined) return;
    await node.server.state([protocol.fencing.raise(terms, known.lastFence, true)], timeoutMs);
  }
}

/** A majority says that the hold is gone. Why, any of them may say; for those that have not answered yet nobody waits. */
function goneWith(answers: readonly (StateResult | undefined)[]): StateResult {
  return answers.find((answer) => answer?.is === 'gone' && answer.words !== undefined) ?? GONE;
}

/** A server that is down is not asked. One that says that the hold is gone need not release it. */
async function stateOn(
  node: QuorumNode,
  statements: readonly Statement[],
  timeoutMs: number,
): Promise<readonly StateResult[]> {
  const { absence } = node.health;
  if (absence !== null) return statements.map(() => ({ is: 'failed', servers: [absence] }));
  const results = await node.server.state(statements, timeoutMs);
  for (const [i, { holder }] of statements.entries()) {
    if (results[i]?.is === 'gone') node.votes.noteGone(holder);
  }
  return results;
}

function mostReceivers(answers: readonly (ReleaseResult | undefined)[]): number {
  return answers.reduce(
    (most, answer) => (answer?.is === 'released' ? Math.max(most, answer.receivers) : most),
    0,
  );
}

function failuresOf(answers: readonly (StateResult | ReleaseResult | undefined)[]): ServerFailure[] {
  return answers.flatMap((answer) => (answer?.is === 'failed' ? answer.servers : []));
}
