/**
 * One attempt to win a lock on several servers: all are asked at once, and the attempt is decided as soon as a majority
 * is certain either way. What was won in vain is given back everywhere.
 *
 * The rule, told with servers A, B and C, of which two must agree:
 *
 * - A and B grant: won, whatever C says. C's answer is not waited for. If C granted too, the hold has a vote more; if C
 *   never answers, its vote is counted as one that may be there, and is released with the hold.
 * - A grants, B and C say that another holder has the lock: lost, as soon as C has said so. The vote of A is given back.
 * - A grants, B says that X has the lock, C that Y has it: the votes are split and nobody has won. All give back and try
 *   again after a random while, so that one of them comes first.
 * - A grants, B and C do not answer: too few servers, an outage. The vote of A is given back, and so are those of B and C,
 *   which may have been given: each server is told until it answers.
 * - A and B grant with the same fences: done after one round. A grants fence 5 and B fence 7: the owner gets 7, and A is
 *   first raised to 7, so that every later majority meets a server that knows of 7. C is raised behind the owner's back.
 * - A and B grant, but their answers took longer than the lease lasts: lost. Nobody may be told of a hold that is over.
 */

import type { ServerFailure } from '../../errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Instant, instantNow, leaseDeadline, remainingAt } from '../../runtime/instant.ts';
import { inMs } from '../../runtime/printable.ts';
import type { Fencing, HoldTerms, Protocol } from '../protocol.ts';
import { middleMicros } from '../server/server-clock.ts';
import type { AcquireResult, Granted, StateResult } from '../topology.ts';
import { type Block, countReaching, highestBlock, reaches, type Votes } from './fence-block.ts';
import { count, countPending, decide } from './majority.ts';
import type { QuorumNode } from './node.ts';

type Refusal = Exclude<AcquireResult, Granted>;

/**
 * How far ahead of the servers' clocks fences begin: a request that is on its way for no longer (less what we have a clock
 * too early by) still finds that time to come, on every server. A fence may be ahead of the clocks by as much, so this is
 * short: docs/design/009.
 */
const AHEAD_MS = 2;

export class Election {
  readonly #nodes: readonly QuorumNode[];
  readonly #majority: number;
  readonly #clock: Clock;
  readonly #protocol: Protocol;
  readonly #terms: HoldTerms;
  readonly #timeoutMs: number;
  /** The servers that were asked. The others cannot vote now, and their health says why. */
  readonly #asked: QuorumNode[] = [];
  /** The servers whose counters are raised in a second round. */
  readonly #raising = new Map<QuorumNode, Promise<StateResult>>();

  constructor(
    nodes: readonly QuorumNode[],
    majority: number,
    clock: Clock,
    protocol: Protocol,
    terms: HoldTerms,
    timeoutMs: number,
  ) {
    this.#nodes = nodes;
    this.#majority = majority;
    this.#clock = clock;
    this.#protocol = protocol;
    this.#terms = terms;
    this.#timeoutMs = timeoutMs;
  }

  async run(guardMs: number): Promise<AcquireResult> {
    const sentAt = instantNow(this.#clock);
    const { fencing } = this.#protocol;
    const terms = fencing === undefined ? this.#terms : this.#fencedTerms(sentAt);
    const voting = this.#nodes.map((node) => this.#vote(node, terms, guardMs, sentAt));
    const { votes, hasWon } = await decide(voting, (answers) => this.#judge(answers));
    if (!hasWon) return this.#lose(this.#refusal(votes), votes);
    const deadline = leaseDeadline(sentAt, this.#terms.leaseMs);
    const block = highestBlock(votes);
    // As a rule a majority has given the same fences, and no second round is needed.
    const needed = this.#majority - countReaching(votes, block);
    if (fencing !== undefined && needed > 0) {
      const failures = await this.#raise(fencing, block, needed, votes, voting);
      if (failures !== null) return this.#lose(outage(failures), votes);
    }
    const heardAt = instantNow(this.#clock);
    if (remainingAt(deadline, heardAt) <= 0) {
      return this.#lose(outage([this.#tooLate(sentAt, heardAt)]), votes);
    }
    if (fencing === undefined) {
      return { is: 'granted', deadline, firstFence: undefined, fences: this.#terms.fences, heardAt };
    }
    this.#raiseLater(fencing, block, voting, votes);
    return {
      is: 'granted',
      deadline,
      firstFence: block.first,
      fences: block.last - block.first + 1,
      heardAt,
    };
  }

  /** The terms with one time for all servers, so that as a rule all give the same fences. */
  #fencedTerms({ monotonicMs }: Instant): HoldTerms {
    const { holder, leaseMs, fences } = this.#terms;
    const clocks = this.#nodes.map(({ clock }) => clock);
    return { holder, leaseMs, fences, commonUs: middleMicros(clocks, monotonicMs + AHEAD_MS) };
  }

  #vote(node: QuorumNode, terms: HoldTerms, guardMs: number, sentAt: Instant): Promise<AcquireResult> {
    const obstacle = node.health.obstacle(guardMs, sentAt.monotonicMs);
    if (obstacle !== null) return Promise.resolve(outage([obstacle]));
    this.#asked.push(node);
    return node.votes.acquire(this.#protocol, terms, this.#timeoutMs, sentAt);
  }

  #judge(votes: Votes): { votes: Votes; hasWon: boolean } | undefined {
    const granted = count(votes, 'granted');
    if (granted >= this.#majority) return { votes, hasWon: true };
    const pending = countPending(votes);
    if (granted + pending >= this.#majority) return undefined;
    // The election is lost. Whether by contention or by an outage is known once a majority has answered.
    const answered = granted + count(votes, 'held') + count(votes, 'conflict');
    return answered >= this.#majority || pending === 0 ? { votes, hasWon: false } : undefined;
  }

  #refusal(votes: Votes): Refusal {
    const conflict = votes.find((vote) => vote?.is === 'conflict');
    if (conflict?.is === 'conflict' && count(votes, 'conflict') > this.#nodes.length - this.#majority) {
      return conflict;
    }
    const held = votes.filter((vote) => vote?.is === 'held');
    const granted = count(votes, 'granted');
    // Nobody else holds a vote, or too few servers answered to say so: an outage, and not contention.
    if (held.length === 0 || held.length + granted + count(votes, 'conflict') < this.#majority) {
      const canRetry = votes.some((vote) => vote?.is === 'failed' && vote.canRetry);
      return outage(this.#failures(votes), canRetry);
    }
    const byOwner = new Map<string | undefined, number>();
    for (const { owner } of held) byOwner.set(owner, (byOwner.get(owner) ?? 0) + 1);
    const [owner, most] = [...byOwner].sort(([, a], [, b]) => b - a)[0] ?? [undefined, 0];
    // The earliest moment at which a majority of servers may be free: found from the leases of the votes that others hold.
    const livesMs = held
      .map(({ ttlMs }) => (ttlMs < 0 ? Number.POSITIVE_INFINITY : ttlMs))
      .sort((a, b) => a - b);
    // Servers that did not answer count as free by then.
    const mayGrant = this.#nodes.length - held.length - count(votes, 'conflict');
    const ttlMs = livesMs[Math.max(0, this.#majority - mayGrant - 1)] ?? 0;
    const isSplit = most < this.#majority;
    return {
      is: 'held',
      ttlMs: Number.isFinite(ttlMs) ? ttlMs : -1,
      owner: isSplit ? undefined : owner,
      isSplit,
    };
  }

  #failures(votes: Votes): ServerFailure[] {
    return this.#nodes.flatMap((node, i): readonly ServerFailure[] => {
      const vote = votes[i];
      if (vote?.is === 'failed') return vote.servers;
      if (vote?.is === 'conflict') {
        const what = vote.isCounter ? 'the counter of its fences' : 'the key';
        return [{ server: node.description, kind: 'reply', text: `${what} holds ${vote.found}` }];
      }
      return [];
    });
  }

  /** Null once `needed` more servers store the end of the block, which makes a majority; otherwise the failures. */
  #raise(
    fencing: Fencing,
    block: Block,
    needed: number,
    votes: Votes,
    voting: readonly Promise<AcquireResult>[],
  ): Promise<readonly ServerFailure[] | null> {
    // Perhaps we have the clock of a server wrong: the next votes bring the servers' time.
    for (const { clock } of this.#nodes) clock.doubt();
    const may = this.#nodes.filter((node, i) => {
      const vote = votes[i];
      if (vote === undefined) return this.#asked.includes(node);
      return vote.is === 'granted' && !reaches(vote, block);
    });
    const raises = may.map((node) => {
      const i = this.#nodes.indexOf(node);
      const raising = this.#raiseOn(node, fencing, block, false);
      return votes[i] === undefined ? backedBy(voting[i] as Promise<AcquireResult>, raising, block) : raising;
    });
    for (const [i, node] of may.entries()) this.#raising.set(node, raises[i] as Promise<StateResult>);
    return decide<StateResult, readonly ServerFailure[] | null>(raises, (answers) => {
      const kept = count(answers, 'kept');
      if (kept >= needed) return null;
      if (kept + countPending(answers) >= needed) return undefined;
      return may.flatMap((node, i): readonly ServerFailure[] => {
        const answer = answers[i];
        if (answer?.is === 'failed') return answer.servers;
        const text = 'its vote was lost, or came behind a later one, by the time its fence was to be raised';
        return answer?.is === 'gone' ? [{ server: node.description, kind: 'reply', text }] : [];
      });
    });
  }

  /**
   * After the grant, in the background: every server that voted, or may have, stores the end of the block, also where
   * the majority did without it. A server that stayed behind would leave the fences to the counters of the others, and the
   * loss of one of those could be enough for a smaller fence: docs/concepts/quorum.md.
   */
  #raiseLater(fencing: Fencing, block: Block, voting: readonly Promise<AcquireResult>[], votes: Votes): void {
    const raise = (node: QuorumNode): void => {
      if (node.isConnected) void this.#raiseOn(node, fencing, block, true).catch(ignore);
    };
    const raiseIfBehind = (node: QuorumNode, vote: AcquireResult): void => {
      if (vote.is === 'granted' ? !reaches(vote, block) : mayHaveVoted(vote)) raise(node);
    };
    for (const [i, node] of this.#nodes.entries()) {
      const vote = votes[i];
      const raising = this.#raising.get(node);
      // A raise of the second round fails where the vote had not arrived yet, or never will.
      if (raising !== undefined) raising.then(({ is }) => is !== 'kept' && raise(node), ignore);
      else if (vote !== undefined) raiseIfBehind(node, vote);
      else voting[i]?.then((late) => raiseIfBehind(node, late), ignore);
    }
  }

  async #raiseOn(
    node: QuorumNode,
    fencing: Fencing,
    { last }: Block,
    isGiven: boolean,
  ): Promise<StateResult> {
    const raise = fencing.raise(this.#terms, last, isGiven);
    const [result] = await node.server.state([raise], this.#timeoutMs);
    return result as StateResult;
  }

  #tooLate(sentAt: Instant, heardAt: Instant): ServerFailure {
    const tookMs = Math.ceil(heardAt.monotonicMs - sentAt.monotonicMs);
    const text = `granted too late: a majority took ${inMs(tookMs)} of a lease of ${inMs(this.#terms.leaseMs)}`;
    return { server: `${this.#nodes.length} servers`, kind: 'late', text };
  }

  /** Gives back what was won in vain, also where no answer came, or a refusal: a vote may still be on its way. */
  #lose(refusal: Refusal, votes: Votes): Refusal {
    const { holder, leaseMs } = this.#terms;
    const without = count(votes, 'held') + count(votes, 'conflict');
    // Nobody waits for the end of a vote. But a majority of votes may have been taken for an owner's.
    const terms = { holder, leaseMs, isQuiet: this.#asked.length - without < this.#majority };
    // The release follows the acquire on its connection, so a vote that comes late is undone as soon as it is given.
    for (const node of this.#asked) node.votes.abandon(this.#protocol, terms);
    return refusal;
  }
}

function ignore(): void {}

/**
 * A raise on a server whose vote was not there yet counts only with that vote, and only if the vote does not begin
 * behind the block: the server may have given a fence of this block to somebody before.
 */
async function backedBy(
  voting: Promise<AcquireResult>,
  raising: Promise<StateResult>,
  { first }: Block,
): Promise<StateResult> {
  const [vote, raised] = await Promise.all([voting, raising]);
  const isBacked = vote.is === 'granted' && (vote.firstFence ?? 0) <= first;
  return isBacked || raised.is !== 'kept' ? raised : { is: 'gone' };
}

/** Whether a server that did not say so may have voted: no answer, or an answer that came too late to count. */
function mayHaveVoted(vote: AcquireResult): boolean {
  return vote.is === 'failed' && (vote.mayBeGranted || vote.servers.some(({ kind }) => kind === 'late'));
}

/** Nothing is left of the attempt: whatever was won is given back. */
function outage(servers: readonly ServerFailure[], canRetry = true): Refusal {
  return { is: 'failed', servers, canRetry, mayBeGranted: false };
}
