/**
 * A server and the way to it, in this process and on a fake clock: locks live and expire in a map, and each call
 * meets the fate that the test chose for it. What a call means is written down again here, not taken from the Lua.
 */
import {
  CallFailure,
  CLIENT,
  type Client,
  type Reply,
  type ScriptCall,
  type StopListening,
} from '../../../src/clients/client.ts';
import { OUTCOMES } from '../../../src/scripts/outcome.ts';
import type { FakeClock } from '../../support/fake-clock.ts';

/**
 * - `answered`: it runs and is answered at once.
 * - `reply-lost`: it runs, and no answer comes.
 * - `lost`: it never runs, and no answer comes.
 * - `refused`: the server answers with an error.
 * - `unreachable`: it is never written.
 * - `replyAfterMs`: it runs at once and its answer takes that long.
 * - `arriveAfterMs`: it takes that long to arrive, then runs and is answered at once.
 * - `strayMs`: no answer comes, and it runs that much later, whatever has happened by then: on a connection that
 *   was given up, a request may still be on its way.
 * - `nonsenseAfterMs`: the answer is not one that the script can give.
 */
export type Fate =
  | 'answered'
  | 'reply-lost'
  | 'lost'
  | 'refused'
  | 'unreachable'
  | { readonly replyAfterMs: number }
  | { readonly arriveAfterMs: number }
  | { readonly strayMs: number }
  | { readonly nonsenseAfterMs: number };

export interface SeenCall {
  /** `lock.renew` and so on. */
  readonly script: string;
  readonly verb: string;
  /** Of locks and mutexes: the counters of fences and the lines of waiters that go beside them are left out. */
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly atMs: number;
}

/** How the keys begin that go beside the one of a lock or a mutex. */
const BESIDE = ['redisson_lock_token:', 'holdfast_line:'];

/** Nobody gets a place in a line here: place, tickets, how long the key is left to guests, whether its owner is one. */
const NO_PLACE = [0, 0, 0, 0];

export class ScriptedNode implements Client {
  readonly [CLIENT] = true as const;
  readonly description = 'a scripted node';
  readonly keyPrefix = '';
  readonly isConnected = true;
  readonly connections = 1;
  /** Every call that was handed in, oldest first. */
  readonly calls: SeenCall[] = [];
  /** What becomes of a call. */
  fate: (call: SeenCall) => Fate = () => 'answered';
  readonly #clock: FakeClock;
  readonly #keys = new Map<string, { readonly holder: string; readonly untilMs: number }>();
  #fence = 0;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  /** How long the server would still keep that key; 0 when it has none. Its clock goes on while our machine sleeps. */
  ttlMs(key: string): number {
    return Math.max(0, (this.#keys.get(key)?.untilMs ?? 0) - this.#clock.wallMs());
  }

  holder(key: string): string | null {
    return this.ttlMs(key) > 0 ? (this.#keys.get(key)?.holder ?? null) : null;
  }

  /** As an administrator would. */
  delete(key: string): void {
    this.#keys.delete(key);
  }

  /** Of those calls, the ones that do this: `renew`, `acquire`, `release`. */
  callsTo(verb: string): SeenCall[] {
    return this.calls.filter((call) => call.verb === verb);
  }

  run({ script, keys, args }: ScriptCall, timeoutMs: number): Promise<Reply | CallFailure> {
    const verb = script.name.split('.')[1] ?? '';
    const names = keys.filter((key) => !BESIDE.some((prefix) => key.startsWith(prefix)));
    const call: SeenCall = {
      script: script.name,
      verb,
      keys: names,
      args,
      atMs: this.#clock.monotonicMs(),
    };
    this.calls.push(call);
    const fate = this.fate(call);
    const inTime = new Promise<CallFailure>((resolve) => {
      if (fate === 'answered') return;
      const noAnswer = new CallFailure('unknown', `no answer within ${timeoutMs} ms`);
      this.#clock.startTimer(timeoutMs, () => resolve(noAnswer)).unref();
    });
    return Promise.race([this.#meet(call, fate), inTime]);
  }

  async listen(): Promise<StopListening> {
    return () => {};
  }

  async close(): Promise<void> {}

  async #meet(call: SeenCall, fate: Fate): Promise<Reply | CallFailure> {
    if (fate === 'answered') return this.#execute(call);
    if (fate === 'refused') return new CallFailure('reply', 'BUSY the server is in a long script', 'BUSY');
    if (fate === 'unreachable') return new CallFailure('unreachable', 'nobody listens there');
    if (fate === 'lost') return await new Promise(() => {});
    if (fate === 'reply-lost') {
      this.#execute(call);
      return await new Promise(() => {});
    }
    if ('strayMs' in fate) {
      await this.#after(fate.strayMs);
      this.#execute(call);
      return await new Promise(() => {});
    }
    if ('arriveAfterMs' in fate) {
      await this.#after(fate.arriveAfterMs);
      return this.#execute(call);
    }
    if ('nonsenseAfterMs' in fate) {
      await this.#after(fate.nonsenseAfterMs);
      return 'what?';
    }
    const reply = this.#execute(call);
    await this.#after(fate.replyAfterMs);
    return reply;
  }

  #after(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.startTimer(ms, resolve).unref());
  }

  #execute({ verb, script, keys, args }: SeenCall): Reply {
    const key = keys[0] ?? '';
    const holder = args[0] ?? '';
    if (verb === 'renew') {
      // Of a lock two more say what its counter of fences is to be.
      const share = script.startsWith('lock') ? 4 : 2;
      return keys.map((each, i) => this.#renew(each, args[share * i] ?? '', Number(args[share * i + 1])));
    }
    if (verb === 'release') {
      const isOurs = this.holder(key) === holder;
      if (isOurs) this.#keys.delete(key);
      return isOurs ? [OUTCOMES.RELEASED, 0] : [OUTCOMES.GONE];
    }
    if (verb !== 'acquire') throw new Error(`no scripted answer to ${script}`);
    return this.#acquire(key, holder, Number(args[1]), Number(args[2]), script.startsWith('lock'));
  }

  #acquire(key: string, holder: string, leaseMs: number, fences: number, hasFences: boolean): Reply {
    const nowMs = Math.floor(this.#clock.wallMs());
    const owner = this.holder(key);
    if (owner !== null && owner !== holder) {
      return [OUTCOMES.HELD, nowMs, Math.ceil(this.ttlMs(key)), owner, ...NO_PLACE];
    }
    this.#keys.set(key, { holder, untilMs: this.#clock.wallMs() + leaseMs });
    this.#fence += 1_000;
    return hasFences ? [OUTCOMES.GRANTED, nowMs, this.#fence, fences, 0] : [OUTCOMES.GRANTED, nowMs, 0];
  }

  #renew(key: string, holder: string, leaseMs: number): number {
    if (this.holder(key) !== holder) return OUTCOMES.GONE;
    // Never shorter: what comes late must not undo what came before it.
    const untilMs = Math.max(this.#keys.get(key)?.untilMs ?? 0, this.#clock.wallMs() + leaseMs);
    this.#keys.set(key, { holder, untilMs });
    return OUTCOMES.RENEWED;
  }
}
