/**
 * Several independent servers decide, by majority: Redlock, with fences, and with servers that have just restarted
 * kept from voting. `docs/concepts/quorum.md` tells the algorithm and what it assumes.
 */
import type { CallFailure, Client, StopListening, Wake } from '../../clients/client.ts';
import { LockConfigError, type ServerFailure } from '../../errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { instantNow } from '../../runtime/instant.ts';
import type { TimerQueue } from '../../runtime/timer-queue.ts';
import type {
  AcquireResult,
  CleanUp,
  HoldTerms,
  KeepResult,
  Protocol,
  QueryAnswer,
  QueryCall,
  ReleaseResult,
  ReleaseTerms,
  RenewItem,
  Topology,
} from '../old-topology.ts';
import { QuorumChannel } from './channel.ts';
import { QuorumCleanUp } from './clean-up.ts';
import { Muster } from './connect-nodes.ts';
import { Election } from './election.ts';
import { count, countPending, decide } from './majority.ts';
import { QuorumNode, type QuorumOptions } from './node.ts';

export class QuorumTopology implements Topology {
  readonly keyPrefix: string;
  readonly size: number;
  readonly majority: number;
  readonly lateReleases: CleanUp;
  readonly #nodes: readonly QuorumNode[];
  readonly #timers: TimerQueue;
  readonly #options: QuorumOptions;
  readonly #channels = new Set<QuorumChannel>();
  readonly #muster: Muster;
  #longestLeaseMs: number;
  /** Whether the servers that are up are known to be different ones. */
  #areDistinct = false;

  constructor(clients: readonly Client[], timers: TimerQueue, options: QuorumOptions) {
    this.#nodes = clients.map((client) => new QuorumNode(client, timers, options));
    this.#timers = timers;
    this.#options = options;
    this.#longestLeaseMs = options.leaseMs;
    this.keyPrefix = clients[0]?.keyPrefix ?? '';
    this.size = clients.length;
    this.majority = Math.floor(clients.length / 2) + 1;
    this.lateReleases = new QuorumCleanUp(this.#nodes);
    const standings = this.#nodes.map(({ standing }) => standing);
    this.#muster = new Muster(standings, this.majority, timers);
    for (const node of this.#nodes) {
      node.standing.onUp = () => {
        this.#areDistinct = false;
        for (const channel of this.#channels) void channel.join(node);
      };
    }
  }

  get description(): string {
    return this.#nodes.map(({ description }) => description).join(', ');
  }

  get hasAnswered(): boolean {
    return this.#muster.hasAnswered;
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

  /** Not async, as little as a release: a promise of a promise would be one more for every caller. */
  acquire(protocol: Protocol, terms: HoldTerms, timeoutMs: number): Promise<AcquireResult> {
    this.#noteLease(terms.leaseMs);
    if (this.#muster.isOver() && this.#areDistinct) return this.#elect(protocol, terms, timeoutMs);
    return this.#muster.call(timeoutMs).then(() => {
      if (!this.#areDistinct) this.#assertDistinct();
      return this.#elect(protocol, terms, timeoutMs);
    });
  }

  #elect(protocol: Protocol, terms: HoldTerms, timeoutMs: number): Promise<AcquireResult> {
    const { clock } = this.#timers;
    return new Election(this.#nodes, this.majority, clock, protocol, terms, timeoutMs).run(this.#guardMs);
  }

  release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult> {
    if (this.#muster.isOver()) return this.#releaseOnAll(protocol, terms, timeoutMs);
    return this.#muster.call(timeoutMs).then(() => this.#releaseOnAll(protocol, terms, timeoutMs));
  }

  #releaseOnAll(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult> {
    const releases = this.#nodes.map((node) => node.release(protocol, terms, timeoutMs));
    return decide<ReleaseResult, ReleaseResult>(releases, (answers) => {
      const released = count(answers, 'released');
      if (released >= this.majority) return { is: 'released', receivers: mostReceivers(answers) };
      if (released + countPending(answers) >= this.majority) return undefined;
      if (count(answers, 'gone') > this.size - this.majority) return { is: 'gone' };
      if (countPending(answers) > 0) return undefined;
      return { is: 'failed', servers: failuresOf(answers) };
    });
  }

  async recount(protocol: Protocol, item: RenewItem, times: number, timeoutMs: number): Promise<KeepResult> {
    await this.#muster.call(timeoutMs);
    return this.#majorityOf(
      this.#nodes.map(async (node): Promise<KeepResult> => {
        const { absence } = node.standing;
        if (absence !== null) return { is: 'failed', servers: [absence] };
        return node.recount(protocol, item, times, timeoutMs);
      }),
    );
  }

  async renew(items: readonly RenewItem[], timeoutMs: number): Promise<readonly KeepResult[]> {
    for (const { leaseMs } of items) this.#noteLease(leaseMs);
    await this.#muster.call(timeoutMs);
    const byNode = this.#nodes.map((node) => this.#renewOn(node, items, timeoutMs));
    const results = await Promise.all(
      items.map((_, i) =>
        this.#majorityOf(byNode.map((all) => all.then((answers) => answers[i] as KeepResult))),
      ),
    );
    for (const [n, answers] of byNode.entries()) {
      void answers.then((gone) =>
        this.#restore(this.#nodes[n] as QuorumNode, items, gone, results, timeoutMs),
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
    await this.#muster.call(timeoutMs);
    const asking = this.#nodes.map(async (node, index) => {
      const answers = await node.query((_, how) => callFor(index, how), timeoutMs);
      return answers.map((answer) => ({ ...answer, index }));
    });
    return (await Promise.all(asking)).flat();
  }

  async close(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.close()));
  }

  get #guardMs(): number {
    return this.#options.restartGuardMs ?? this.#longestLeaseMs;
  }

  /** Of an extension too: whoever guards against a restart must know the longest lease that may be forgotten. */
  #noteLease(leaseMs: number): void {
    this.#longestLeaseMs = Math.max(this.#longestLeaseMs, leaseMs);
  }

  /** Two names of one server would be two votes of one. */
  #assertDistinct(): void {
    const known = new Map<string, QuorumNode>();
    for (const node of this.#nodes) {
      const { runId } = node.standing;
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

  async #renewOn(
    node: QuorumNode,
    items: readonly RenewItem[],
    timeoutMs: number,
  ): Promise<readonly KeepResult[]> {
    const { absence } = node.standing;
    if (absence === null) return node.renew(items, timeoutMs);
    return items.map(() => ({ is: 'failed', servers: [absence] }));
  }

  /** Kept by a majority; gone when no majority can have it any more; otherwise nobody knows, and time decides. */
  #majorityOf(answers: readonly Promise<KeepResult>[]): Promise<KeepResult> {
    return decide<KeepResult, KeepResult>(answers, (heard) => {
      if (count(heard, 'kept') >= this.majority) return { is: 'kept' };
      if (count(heard, 'gone') > this.size - this.majority) return { is: 'gone' };
      return countPending(heard) > 0 ? undefined : { is: 'failed', servers: failuresOf(heard) };
    });
  }

  /**
   * One of a minority that has lost the key gets it again, so that the next fault finds a majority: only while a
   * majority has it, and only while it is wanted.
   */
  #restore(
    node: QuorumNode,
    items: readonly RenewItem[],
    answers: readonly KeepResult[],
    results: readonly KeepResult[],
    timeoutMs: number,
  ): void {
    for (const [i, item] of items.entries()) {
      const isMissing = answers[i]?.is === 'gone' && results[i]?.is === 'kept';
      if (isMissing && item.claim.isLive && node.standing.absence === null) {
        void restoreOn(node, item, timeoutMs, this.#timers.clock);
      }
    }
  }
}

/** Its vote, and the fence: whoever counts on this server's vote later must find there what a majority was raised to. */
async function restoreOn(node: QuorumNode, item: RenewItem, timeoutMs: number, clock: Clock): Promise<void> {
  const terms = { holder: item.holder, leaseMs: item.leaseMs, fences: 1 };
  const vote = await node.acquire(item.protocol, terms, timeoutMs, instantNow(clock));
  const { lastFence } = item.claim;
  if (vote.is === 'granted' && lastFence !== undefined) {
    await node.raise(item.protocol, terms, lastFence, true, timeoutMs);
  }
}

function mostReceivers(answers: readonly (ReleaseResult | undefined)[]): number {
  return answers.reduce(
    (most, answer) => (answer?.is === 'released' ? Math.max(most, answer.receivers) : most),
    0,
  );
}

function failuresOf(answers: readonly (KeepResult | ReleaseResult | undefined)[]): ServerFailure[] {
  return answers.flatMap((answer) => (answer?.is === 'failed' ? answer.servers : []));
}
