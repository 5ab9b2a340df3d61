/**
 * A server whose writes count only once enough of its replicas have them.
 *
 * Statements run on a connection on which the server then counts the replicas that have them; a grant is stated there
 * once more. A grant that too few replicas have is void. A statement that too few have has failed: the deadline stands,
 * so the owner of a lock on a primary that has lost its replicas is told in time.
 */
import { CallFailure, type Client, type Copies, type ReplicaTerms } from '../../clients/client.ts';
import { LockConfigError, type ServerFailure } from '../../errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Instant, instantNow, remainingAt } from '../../runtime/instant.ts';
import { inMs } from '../../runtime/printable.ts';
import type { HoldTerms, Protocol, Revoked, Statement } from '../protocol.ts';
import type { StateResult } from '../topology.ts';
import type { Decision } from './decision.ts';
import { read } from './reading.ts';
import { hasSteppedDown, isConflictWord, isPassingWord } from './reply-words.ts';
import { GONE, KEPT, Server, type ServerSettings } from './server.ts';

/** Why a write does not count. */
interface Shortage {
  readonly failure: ServerFailure;
  /** Whether it may help to ask again. */
  readonly canRetry: boolean;
}

type Confirmation = 'confirmed' | 'gone' | Revoked | Shortage;

/** The server, or something in between, does not know the command. */
const UNKNOWN_COMMAND = /^ERR unknown command/i;

/** The server behind that client; with `replicas`, one whose writes they must confirm. */
export function serverFor(
  client: Client,
  clock: Clock,
  replicas: ReplicaTerms | null,
  settings?: ServerSettings,
): Server {
  return replicas === null
    ? new Server(client, clock, settings)
    : new ConfirmedServer(client, clock, replicas, settings);
}

class ConfirmedServer extends Server {
  readonly #acknowledge: NonNullable<Client['acknowledge']>;
  readonly #terms: ReplicaTerms;
  readonly #clock: Clock;
  /** Set once the server has turned out not to know the command: nothing is granted from then on. */
  #lack: Shortage | null = null;

  constructor(client: Client, clock: Clock, terms: ReplicaTerms, settings?: ServerSettings) {
    super(client, clock, settings);
    if (client.acknowledge === undefined) {
      throw new LockConfigError(
        `expected a client that can count replicas for replicas.min ${terms.min}, got ${client.description}, which cannot`,
      );
    }
    this.#acknowledge = client.acknowledge.bind(client);
    this.#terms = terms;
    this.#clock = clock;
  }

  override async acquire(
    protocol: Protocol,
    terms: HoldTerms,
    timeoutMs: number,
    isWanted?: () => boolean,
    sentAt?: Instant,
  ): Promise<Decision> {
    if (this.#lack !== null) return refusedFor(this.#lack);
    const giveUpMs = this.#clock.monotonicMs() + timeoutMs;
    const granted = await super.acquire(protocol, terms, timeoutMs, isWanted, sentAt);
    if (granted.is !== 'granted') return granted;
    const { holder, leaseMs } = terms;
    const { firstFence, fences } = granted;
    const lastFence = firstFence === undefined ? undefined : firstFence + fences - 1;
    // Nothing can have released this hold: its owner has not been told of it yet.
    const known = { isLive: true, lastFence };
    const confirmation = await this.#confirm(
      { protocol, holder, leaseMs, known, batch: protocol.renewal },
      giveUpMs,
    );
    const heardAt = instantNow(this.#clock);
    if (confirmation === 'gone' || isRevoked(confirmation)) {
      return voidFor(this.#shortage('it was gone before replicas had it: a failover'));
    }
    if (confirmation !== 'confirmed') return voidFor(confirmation);
    if (remainingAt(granted.deadline, heardAt) <= 0) {
      return voidFor(this.#shortage(`replicas had it after its lease of ${inMs(leaseMs)}`));
    }
    return { ...granted, heardAt };
  }

  /** States each hold by a call of its own, so that each has its own answer. The replicas are counted for all calls together. */
  override async state(statements: readonly Statement[], timeoutMs: number): Promise<readonly StateResult[]> {
    const giveUpMs = this.#clock.monotonicMs() + timeoutMs;
    const confirmations = statements.map((statement) => this.#confirm(statement, giveUpMs));
    return (await Promise.all(confirmations)).map(stateResult);
  }

  async #confirm(statement: Statement, giveUpMs: number): Promise<Confirmation> {
    const { batch } = statement;
    const startedMs = this.#clock.monotonicMs();
    const written = await this.#acknowledge(batch.call([statement]), this.#terms, giveUpMs - startedMs);
    if (written instanceof CallFailure) return this.#unanswered(written);
    const answers = read(written.reply, () => batch.read(written.reply, 1));
    if (answers instanceof CallFailure) return this.#unanswered(answers);
    const [answer = 'FAILED'] = answers;
    if (answer === 'GONE') return 'gone';
    if (typeof answer === 'object') return answer;
    if (answer !== 'KEPT') return this.#shortage('the server refused to read the key');
    const copies = await written.copies;
    if (copies instanceof CallFailure) return this.#uncounted(copies);
    return this.#isEnough(copies) ? 'confirmed' : this.#tooFew(copies, startedMs);
  }

  #isEnough({ replicas, local }: Copies): boolean {
    return replicas >= this.#terms.min && (!this.#terms.aof || local > 0);
  }

  #tooFew({ replicas, local }: Copies, startedMs: number): Shortage {
    const took = inMs(this.#clock.monotonicMs() - startedMs);
    const { min, aof } = this.#terms;
    const where = aof ? ` on disk${local > 0 ? '' : ', nor had the server itself'}` : '';
    const text = `wanted ${min} ${min === 1 ? 'replica' : 'replicas'} to have it, ${replicas} had it${where} after ${took}`;
    return this.#shortage(text);
  }

  #unanswered(failure: CallFailure): Confirmation {
    // A key of another type is as gone as no key.
    if (isConflictWord(failure.word)) return 'gone';
    const canRetry = failure.kind !== 'reply' || isPassingWord(failure.word);
    return { failure: this.failureOf(failure), canRetry };
  }

  /** The statement was written, and the server did not say which replicas have it. */
  #uncounted(failure: CallFailure): Shortage {
    if (failure.kind !== 'reply') return this.#shortage(`replicas were not counted: ${failure.text}`);
    if (!UNKNOWN_COMMAND.test(failure.text)) {
      const canRetry = isPassingWord(failure.word) || hasSteppedDown(failure);
      return this.#shortage(`replicas were not counted: ${failure.text}`, canRetry);
    }
    const { min, aof } = this.#terms;
    const needs = aof ? 'WAITAOF, which replicas.aof needs' : `WAIT, which replicas.min ${min} needs`;
    this.#lack = this.#shortage(`the server does not know ${needs}`, false);
    return this.#lack;
  }

  #shortage(text: string, canRetry = true): Shortage {
    return { failure: this.failure('replicas', text), canRetry };
  }
}

function refusedFor({ failure, canRetry }: Shortage): Decision {
  return { is: 'refused', servers: [failure], canRetry };
}

function voidFor({ failure, canRetry }: Shortage): Decision {
  return { is: 'void', servers: [failure], canRetry };
}

function isRevoked(confirmation: Confirmation): confirmation is Revoked {
  return typeof confirmation === 'object' && 'is' in confirmation;
}

function stateResult(confirmation: Confirmation): StateResult {
  if (confirmation === 'confirmed') return KEPT;
  if (confirmation === 'gone') return GONE;
  if (isRevoked(confirmation)) return { is: 'gone', words: confirmation.words };
  return { is: 'failed', servers: [confirmation.failure] };
}
