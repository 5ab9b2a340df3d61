/** A client of a caller's own making that breaks the first rule of the seam: it throws, or its promises reject. */
import {
  type Acknowledged,
  type CallFailure,
  CLIENT,
  type Client,
  type Copies,
  type ReplicaTerms,
  type Reply,
  type ScriptCall,
  type StopListening,
  type Wake,
} from '../../../src/clients/client.ts';

export type Manner = 'rejects' | 'throws';

export const MANNERS: readonly Manner[] = ['rejects', 'throws'];

/** Scripts by their names, and the verbs that are none. */
export type Verb = string;

export class ForeignClient implements Client {
  readonly [CLIENT] = true as const;
  readonly description = 'a foreign client';
  readonly keyPrefix = '';
  readonly #inner: Client;
  readonly #manner: Manner;
  readonly #left = new Map<Verb, number>();
  /** How often it has broken the rule. */
  broken = 0;

  constructor(inner: Client, manner: Manner) {
    this.#inner = inner;
    this.#manner = manner;
  }

  /** The next `times` uses of that verb go wrong. */
  break(verb: Verb, times = Number.POSITIVE_INFINITY): void {
    this.#left.set(verb, times);
  }

  heal(): void {
    this.#left.clear();
  }

  get isConnected(): boolean {
    if (this.#isDue('isConnected')) throw new Error('against the rules of the seam');
    return this.#inner.isConnected;
  }

  get connections(): number {
    if (this.#isDue('connections')) throw new Error('against the rules of the seam');
    return this.#inner.connections;
  }

  run(call: ScriptCall, timeoutMs: number): Promise<Reply | CallFailure> {
    return this.#do(call.script.name, () => this.#inner.run(call, timeoutMs));
  }

  async acknowledgeRight(call: ScriptCall, timeoutMs: number): Promise<Acknowledged | CallFailure> {
    // The embedded node answers with a reply and never with a failure here.
    const reply = (await this.#inner.run(call, timeoutMs)) as Reply;
    const copies = this.#do('copies', async (): Promise<Copies> => ({ replicas: 1, local: 0 }));
    // Nobody may look at it before the reply has been read.
    copies.catch(() => {});
    return { reply, copies };
  }

  acknowledge(
    call: ScriptCall,
    _terms: ReplicaTerms,
    timeoutMs: number,
  ): Promise<Acknowledged | CallFailure> {
    return this.#do('acknowledge', () => this.acknowledgeRight(call, timeoutMs));
  }

  listen(channel: string, wake: Wake, timeoutMs: number): Promise<StopListening | CallFailure> {
    return this.#do('listen', async () => {
      const stop = await this.#inner.listen(channel, wake, timeoutMs);
      if (typeof stop !== 'function') return stop;
      return () => {
        stop();
        if (this.#isDue('stop')) throw new Error('against the rules of the seam');
      };
    });
  }

  close(): Promise<void> {
    return this.#do('close', () => this.#inner.close());
  }

  #do<Result>(verb: Verb, work: () => Promise<Result>): Promise<Result> {
    if (!this.#isDue(verb)) return work();
    if (this.#manner === 'throws' && verb !== 'copies') throw new Error('against the rules of the seam');
    return Promise.reject(new Error('against the rules of the seam'));
  }

  #isDue(verb: Verb): boolean {
    const left = this.#left.get(verb) ?? 0;
    if (left <= 0) return false;
    this.#left.set(verb, left - 1);
    this.broken += 1;
    return true;
  }
}
