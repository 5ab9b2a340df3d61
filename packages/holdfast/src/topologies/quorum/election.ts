/**
 * One attempt to win a lock on several servers: all are asked at once, and it is decided as soon as a majority is
 * certain either way. What was won in vain is given back everywhere.
 */

import type { ServerFailure } from '../../errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Instant, instantNow, leaseDeadline, remainingAt } from '../../runtime/instant.ts';
import { inMs } from '../../runtime/printable.ts';
import type { AcquireResult, HoldTerms, KeepResult, Protocol } from '../old-topology.ts';
import { middleMicros } from '../server/server-clock.ts';
import { count, countPending, decide } from './majority.ts';
import type { QuorumNode } from './node.ts';

type Votes = readonly (AcquireResult | undefined)[];
type Refusal = Exclude<AcquireResult, { is: 'granted' }>;
type Vote = Extract<AcquireResult, { is: 'granted' }>;

/** The fences of an owner. */
interface Block {
  readonly first: number;
  readonly last: number;
}

/**
 * How long a request may be on its way, with what we have a server's clock too early by, and fences still begin from one
 * time everywhere. It is also how far a fence may be ahead of the clocks, so it is short: docs/design/009.
 */
const AHEAD_MS = 2;

export class Election {
  readonly #nodes: readonly QuorumNode[];
  readonly #majority: number;
  readonly #clock: Clock;
  readonly #protocol: Protocol;
  readonly #terms: HoldTerms;
  readonly #timeoutMs: number;
  /** Those who were asked; the others cannot vote now, and say why. */
  readonly #asked: QuorumNode[] = [];
  /** What becomes of the counters that are raised in a second round. */
  readonly #raising = new Map<QuorumNode, Promise<KeepResult>>();

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
    const terms = this.#protocol.isFenced ? this.#fencedTerms(sentAt) : this.#terms;
    const voting = this.#nodes.map((node) => this.#vote(node, terms, guardMs, sentAt));
    const { votes, hasWon } = await decide(voting, (answers) => this.#judge(answers));
    if (!hasWon) return this.#lose(this.#refusal(votes), votes);
    const deadline = leaseDeadline(sentAt, this.#terms.leaseMs);
    const block = this.#protocol.isFenced ? highestBlock(votes) : undefined;
    // As a rule a majority has given the same fences, and no more is needed.
    const needed = block === undefined ? 0 : this.#majority - countReaching(votes, block);
    if (block !== undefined && needed > 0) {
      const failures = await this.#raise(block, needed, votes, voting);
      if (failures !== null) return this.#lose(outage(failures), votes);
    }
    const heardAt = instantNow(this.#clock);
    if (remainingAt(deadline, heardAt) <= 0) {
      return this.#lose(outage([this.#tooLate(sentAt, heardAt)]), votes);
    }
    if (block === undefined) {
      return { is: 'granted', deadline, firstFence: undefined, fences: this.#terms.fences, heardAt };
    }
    this.#raiseLater(block, voting, votes);
    return {
      is: 'granted',
      deadline,
      firstFence: block.first,
      fences: block.last - block.first + 1,
      heardAt,
    };
  }

  /** With one time for all servers, so that as a rule all give the same fences. */
  #fencedTerms({ monotonicMs }: Instant): HoldTerms {
    const { holder, leaseMs, fences } = this.#terms;
    const clocks = this.#nodes.map(({ clock }) => clock);
    return { holder, leaseMs, fences, commonUs: middleMicros(clocks, monotonicMs + AHEAD_MS) };
  }

  #vote(node: QuorumNode, terms: HoldTerms, guardMs: number, sentAt: Instant): Promise<AcquireResult> {
    const obstacle = node.standing.obstacle(guardMs, sentAt.monotonicMs);
    if (obstacle !== null) return Promise.resolve(outage([obstacle]));
    this.#asked.push(node);
    return node.acquire(this.#protocol, terms, this.#timeoutMs, sentAt);
  }

  #judge(votes: Votes): { votes: Votes; hasWon: boolean } | undefined {
    const granted = count(votes, 'granted');
    if (granted >= this.#majority) return { votes, hasWon: true };
    const pending = countPending(votes);
    if (granted + pending >= this.#majority) return undefined;
    // Lost. Whether by contention or by an outage is told by those who answer, so as many as needed are heard.
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
    // Without a rival it is the servers that are missing, however many have answered.
    if (held.length === 0 || held.length + granted + count(votes, 'conflict') < this.#majority) {
      const mayPass = votes.some(
        (vote) => vote?.is === 'unknown' || (vote?.is === 'refused' && vote.isPassing),
      );
      return outage(this.#failures(votes), mayPass);
    }
    const byOwner = new Map<string | undefined, number>();
    for (const { owner } of held) byOwner.set(owner, (byOwner.get(owner) ?? 0) + 1);
    const [owner, most] = [...byOwner].sort(([, a], [, b]) => b - a)[0] ?? [undefined, 0];
    // It may be ours when so many have let go that we find a majority free.
    const livesMs = held
      .map(({ ttlMs }) => (ttlMs < 0 ? Number.POSITIVE_INFINITY : ttlMs))
      .sort((a, b) => a - b);
    // Those that did not answer may be free by then.
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
      if (vote?.is === 'refused' || vote?.is === 'unknown') return vote.servers;
      if (vote?.is === 'conflict') {
        const what = vote.isCounter ? 'the counter of its fences' : 'the key';
        return [{ server: node.description, kind: 'reply', text: `${what} holds ${vote.found}` }];
      }
      return [];
    });
  }

  /** Null once `needed` more servers have stored the end of the block, which makes a majority; otherwise why not. */
  #raise(
    block: Block,
    needed: number,
    votes: Votes,
    voting: readonly Promise<AcquireResult>[],
  ): Promise<readonly ServerFailure[] | null> {
    // Some clock is not as we have it, perhaps: the next vote tells.
    for (const { clock } of this.#nodes) clock.doubt();
    const may = this.#nodes.filter((node, i) => {
      const vote = votes[i];
      if (vote === undefined) return this.#asked.includes(node);
      return vote.is === 'granted' && !reaches(vote, block);
    });
    const raises = may.map((node) => {
      const i = this.#nodes.indexOf(node);
      const raising = this.#raiseOn(node, block, false);
      return votes[i] === undefined ? backedBy(voting[i] as Promise<AcquireResult>, raising, block) : raising;
    });
    for (const [i, node] of may.entries()) this.#raising.set(node, raises[i] as Promise<KeepResult>);
    return decide<KeepResult, readonly ServerFailure[] | null>(raises, (answers) => {
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
  #raiseLater(block: Block, voting: readonly Promise<AcquireResult>[], votes: Votes): void {
    const raise = (node: QuorumNode): void => {
      if (node.isConnected) void this.#raiseOn(node, block, true).catch(ignore);
    };
    const raiseIfBehind = (node: QuorumNode, vote: AcquireResult): void => {
      if (vote.is === 'granted' ? !reaches(vote, block) : vote.is === 'unknown') raise(node);
    };
    for (const [i, node] of this.#nodes.entries()) {
      const vote = votes[i];
      const raising = this.#raising.get(node);
      // In the second round it had to be ours there, which it may not have been: a vote that came behind it, or none.
      if (raising !== undefined) raising.then(({ is }) => is !== 'kept' && raise(node), ignore);
      else if (vote !== undefined) raiseIfBehind(node, vote);
      else voting[i]?.then((late) => raiseIfBehind(node, late), ignore);
    }
  }

  #raiseOn(node: QuorumNode, { last }: Block, isGiven: boolean): Promise<KeepResult> {
    return node.raise(this.#protocol, this.#terms, last, isGiven, this.#timeoutMs);
  }

  #tooLate(sentAt: Instant, heardAt: Instant): ServerFailure {
    const tookMs = Math.ceil(heardAt.monotonicMs - sentAt.monotonicMs);
    const text = `granted too late: a majority took ${inMs(tookMs)} of a lease of ${inMs(this.#terms.leaseMs)}`;
    return { server: `${this.#nodes.length} servers`, kind: 'late', text };
  }

  /** Gives back what was won in vain, also where no answer came, or a refusal: an answer may still be on its way. */
  #lose(refusal: Refusal, votes: Votes): Refusal {
    const { holder, leaseMs } = this.#terms;
    const without = count(votes, 'held') + count(votes, 'conflict');
    // Nobody waits for the end of a vote. But a majority of them may have been taken for an owner's.
    const terms = { holder, leaseMs, isQuiet: this.#asked.length - without < this.#majority };
    // Behind the request on its connection, so an answer that comes late is undone as soon as it is given.
    for (const node of this.#asked) node.abandon(this.#protocol, terms);
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
  raising: Promise<KeepResult>,
  { first }: Block,
): Promise<KeepResult> {
  const [vote, raised] = await Promise.all([voting, raising]);
  const isBacked = vote.is === 'granted' && (vote.firstFence ?? 0) <= first;
  return isBacked || raised.is !== 'kept' ? raised : { is: 'gone' };
}

/**
 * The block that begins at the largest fence given. Servers that begin there may have granted blocks of different
 * lengths; the shortest is what all of them have.
 */
function highestBlock(votes: Votes): Block {
  let first = 0;
  let last = 0;
  for (const vote of votes) {
    if (vote?.is !== 'granted' || vote.firstFence === undefined || vote.firstFence < first) continue;
    const end = lastFence(vote);
    last = vote.firstFence === first ? Math.min(last, end) : end;
    first = vote.firstFence;
  }
  return { first, last };
}

function lastFence({ firstFence = 0, fences }: Vote): number {
  return firstFence + fences - 1;
}

/** Whether the server of that vote has stored the end of the block, or more. What it gave with this vote is ours alone. */
function reaches(vote: Vote, { last }: Block): boolean {
  return lastFence(vote) >= last;
}

function countReaching(votes: Votes, block: Block): number {
  let sum = 0;
  for (const vote of votes) if (vote?.is === 'granted' && reaches(vote, block)) sum += 1;
  return sum;
}

/** It may help to ask again; and nothing is left of it, because whatever was won is given back. */
function outage(servers: readonly ServerFailure[], isPassing = true): Refusal {
  return { is: 'refused', servers, isPassing, isCertain: true };
}
