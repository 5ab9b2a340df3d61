/**
 * One server decides, and what it decides counts only once enough of its replicas have it.
 *
 * Renewals and re-entries run on a connection on which the server then counts the replicas that have them; a grant is
 * stated there once more. A grant that too few have is given back. A renewal that too few have has failed: the
 * deadline stands, so the owner of a lock on a primary that has lost its replicas is told in time.
 */
import {
  CallFailure,
  type Client,
  type Copies,
  type ReplicaTerms,
  type Reply,
  type ScriptCall,
  type StopListening,
  type Wake,
} from '../../clients/client.ts';
import { LockConfigError, type ServerFailure } from '../../errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import { instantNow, remainingAt } from '../../runtime/instant.ts';
import { inMs } from '../../runtime/printable.ts';
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
  RenewAnswer,
  RenewItem,
  Topology,
} from '../old-topology.ts';
import { read } from './reading.ts';
import { isConflictWord, isPassingWord } from './reply-words.ts';

/** Why a write does not count. */
interface Shortage {
  readonly failure: ServerFailure;
  /** Whether it may help to ask again. */
  readonly isPassing: boolean;
}

type Confirmation = 'confirmed' | 'gone' | Shortage;

const KEPT: KeepResult = { is: 'kept' };
const GONE: KeepResult = { is: 'gone' };

/** The server, or something in between, does not know the command. */
const UNKNOWN_COMMAND = /^ERR unknown command/i;

function keepResult(confirmation: Confirmation): KeepResult {
  if (confirmation === 'confirmed') return KEPT;
  return confirmation === 'gone' ? GONE : { is: 'failed', servers: [confirmation.failure] };
}

export class AcknowledgedTopology implements Topology {
  readonly size = 1;
  readonly majority = 1;
  readonly #server: Topology;
  readonly #acknowledge: NonNullable<Client['acknowledge']>;
  readonly #terms: ReplicaTerms;
  readonly #clock: Clock;
  /** Set once the server has turned out not to know the command: nothing is granted from then on. */
  #lack: Shortage | null = null;

  constructor(server: Topology, client: Client, terms: ReplicaTerms, clock: Clock) {
    if (client.acknowledge === undefined) {
      throw new LockConfigError(
        `expected a client that can count replicas for replicas.min ${terms.min}, got ${client.description}, which cannot`,
      );
    }
    this.#server = server;
    this.#acknowledge = client.acknowledge.bind(client);
    this.#terms = terms;
    this.#clock = clock;
  }

  get description(): string {
    return this.#server.description;
  }

  get keyPrefix(): string {
    return this.#server.keyPrefix;
  }

  get hasAnswered(): boolean {
    return this.#server.hasAnswered;
  }

  outageOf(key: string): readonly ServerFailure[] {
    return this.#server.outageOf(key);
  }

  get lateReleases(): CleanUp {
    return this.#server.lateReleases;
  }

  async acquire(protocol: Protocol, terms: HoldTerms, timeoutMs: number): Promise<AcquireResult> {
    if (this.#lack !== null) return this.#refused(this.#lack, false);
    const giveUpMs = this.#clock.monotonicMs() + timeoutMs;
    const result = await this.#server.acquire(protocol, terms, timeoutMs);
    if (result.is !== 'granted') return result;
    const { holder, leaseMs } = terms;
    const { firstFence, fences } = result;
    const lastFence = firstFence === undefined ? undefined : firstFence + fences - 1;
    // Nothing can have released it: its owner has not been told of it yet.
    const claim = { isLive: true, lastFence };
    const confirmation = await this.#renew({ protocol, holder, leaseMs, claim }, giveUpMs);
    const heardAt = instantNow(this.#clock);
    if (confirmation === 'gone') {
      return this.#refused(this.#shortage('it was gone before replicas had it: a failover'), true);
    }
    if (confirmation !== 'confirmed') return this.#refused(confirmation, true);
    if (remainingAt(result.deadline, heardAt) <= 0) {
      return this.#refused(this.#shortage(`replicas had it after its lease of ${inMs(leaseMs)}`), true);
    }
    return { ...result, heardAt };
  }

  release(protocol: Protocol, terms: ReleaseTerms, timeoutMs: number): Promise<ReleaseResult> {
    return this.#server.release(protocol, terms, timeoutMs);
  }

  async recount(protocol: Protocol, item: RenewItem, count: number, timeoutMs: number): Promise<KeepResult> {
    const giveUpMs = this.#clock.monotonicMs() + timeoutMs;
    const call = protocol.recount(item, count);
    const decode = (reply: Reply): RenewAnswer => (protocol.decodeRecount(reply) ? 'RENEWED' : 'GONE');
    return keepResult(await this.#confirm(call, decode, giveUpMs));
  }

  async renew(items: readonly RenewItem[], timeoutMs: number): Promise<readonly KeepResult[]> {
    const giveUpMs = this.#clock.monotonicMs() + timeoutMs;
    // One by one, so that each has an answer of its own. They are counted together all the same.
    const confirmations = items.map((item) => this.#renew(item, giveUpMs));
    return (await Promise.all(confirmations)).map(keepResult);
  }

  listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    return this.#server.listen(channel, wake, timeoutMs);
  }

  query(callFor: QueryCall, timeoutMs: number): Promise<readonly QueryAnswer[]> {
    return this.#server.query(callFor, timeoutMs);
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #renew(item: RenewItem, giveUpMs: number): Promise<Confirmation> {
    const { renewal } = item.protocol;
    return this.#confirm(renewal.call([item]), (reply) => renewal.decode(reply, 1)[0], giveUpMs);
  }

  async #confirm(
    call: ScriptCall,
    decode: (reply: Reply) => RenewAnswer | undefined,
    giveUpMs: number,
  ): Promise<Confirmation> {
    const startedMs = this.#clock.monotonicMs();
    const written = await this.#acknowledge(call, this.#terms, giveUpMs - startedMs);
    if (written instanceof CallFailure) return this.#unanswered(written);
    const answer = read(written.reply, () => decode(written.reply));
    if (answer instanceof CallFailure) return this.#unanswered(answer);
    if (answer === 'GONE') return 'gone';
    if (answer !== 'RENEWED') return this.#shortage('the server refused to read the key');
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
    const isPassing = failure.kind !== 'reply' || isPassingWord(failure.word);
    const server = { server: this.description, kind: failure.kind, text: failure.text };
    return { failure: server, isPassing };
  }

  /** It was written, and who has it was not told. */
  #uncounted(failure: CallFailure): Shortage {
    if (failure.kind !== 'reply') return this.#shortage(`replicas were not counted: ${failure.text}`);
    if (!UNKNOWN_COMMAND.test(failure.text)) {
      return this.#shortage(`replicas were not counted: ${failure.text}`, isPassingWord(failure.word));
    }
    const { min, aof } = this.#terms;
    const needs = aof ? 'WAITAOF, which replicas.aof needs' : `WAIT, which replicas.min ${min} needs`;
    this.#lack = this.#shortage(`the server does not know ${needs}`, false);
    return this.#lack;
  }

  #shortage(text: string, isPassing = true): Shortage {
    return { failure: { server: this.description, kind: 'replicas', text }, isPassing };
  }

  #refused({ failure, isPassing }: Shortage, wasGranted: boolean): AcquireResult {
    return { is: 'refused', servers: [failure], isPassing, isCertain: true, wasGranted };
  }
}
