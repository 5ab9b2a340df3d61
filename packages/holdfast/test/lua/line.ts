/** The line of waiters of a lock and of a mutex, so that one test can be run for both. */
import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { ScriptCall, ScriptText } from '../../src/clients/client.ts';
import { lockAcquire, lockRelease, mutexAcquire, mutexRelease } from '../../src/scripts/generated.ts';
import type { Database, Messages } from './database.ts';

export const KEY = 'order';
export const FENCE = 'redisson_lock_token:{order}';
export const LINE = 'holdfast_line:{order}';
export const CHANNEL = 'public';
export const LEASE_MS = 30_000;
export const CLAIM_MS = 10_000;
export const FENCE_TTL_MS = 600_000;

export interface Ask {
  /** How the process hears: p plain, s sharded, b broadcast, n not at all; empty: a try; `-`: no line here. */
  readonly mode?: string;
  /** The number of the ask. */
  readonly number?: number;
  readonly channel?: string;
  readonly claimMs?: number;
  readonly fences?: number;
  /** How many releases of guests were heard. */
  readonly heard?: number;
}

export interface Held {
  readonly is: 'HELD';
  readonly ttlMs: number;
  readonly owner: string;
  readonly place: number;
  readonly tickets: number;
  readonly openMs: number;
  readonly isGuest: number;
}

type Answer =
  | { readonly is: 'GRANTED' | 'LATE' }
  | { readonly is: 'CONFLICT'; readonly found: string }
  | Held;

interface Ending {
  readonly mode?: 'nobody' | 'plain' | 'sharded' | 'both';
  readonly isVote?: number;
  readonly isRun?: boolean;
}

const BEGIN_RUN = `#!lua flags=allow-oom
if redis.call('TYPE', KEYS[1]).ok ~= 'hash' or redis.call('HEXISTS', KEYS[1], 'since') == 0 then return 0 end
local time = redis.call('TIME')
return redis.call('HSET', KEYS[1], 'since', time[1] * 1000 + math.floor(time[2] / 1000))`;

/**
 * The release of a mutex for which guests that poll never get a window. Their windows follow from the time that has
 * passed, and on a busy machine any time may pass between two calls, and inside of one.
 */
function withoutPolledWindows(script: ScriptText): ScriptText {
  const source = script.source.replace('run_ms >= RUN_MS_POLLED', 'run_ms >= 4e12');
  if (source === script.source) throw new Error('expected a release after which pollers get windows');
  return { ...script, source, sha: createHash('sha1').update(source).digest('hex') };
}

const UNPOLLED = withoutPolledWindows(mutexRelease.text);

/** Who waits, by the name of its session. */
export class Line {
  readonly kind: 'lock' | 'mutex';
  readonly #database: Database;

  constructor(kind: 'lock' | 'mutex', database: Database) {
    this.kind = kind;
    this.#database = database;
  }

  holderOf(session: string): string {
    const hex = Buffer.from(session).toString('hex');
    return this.kind === 'lock' ? `${hex}-0000-8000-8000-000000000000:1` : `${hex}:holdfast`;
  }

  channelOf(session: string): string {
    return `holdfast_session:${session}`;
  }

  echoOf(session: string, number = 1): string {
    return `1.${number}.${session}`;
  }

  askCall(session: string, ask: Ask = {}): ScriptCall {
    const { mode = 'p', number = 1, channel = this.channelOf(session), claimMs = CLAIM_MS, fences = 1 } = ask;
    const echo = this.echoOf(session, number);
    const ticket = /^-?$/.test(mode) ? mode : `${echo} ${claimMs} ${ask.heard ?? ''}${mode} ${channel}`;
    const holder = this.holderOf(session);
    if (this.kind === 'mutex') {
      return mutexAcquire.call({
        ...{ mutex: KEY, line: LINE, token: holder, leaseMs: LEASE_MS, notAfterMs: 0, ticket },
      });
    }
    return lockAcquire.call({
      ...{ lock: KEY, fence: FENCE, line: LINE, holder, leaseMs: LEASE_MS, fences },
      ...{ fenceTtlMs: FENCE_TTL_MS, notAfterMs: 0, wantsTime: 1, commonUs: 0, ticket },
    });
  }

  async ask(session: string, ask?: Ask, client?: Redis): Promise<Answer> {
    const reply = await this.#database.run(this.askCall(session, ask), client);
    return this.kind === 'lock' ? lockAcquire.decode(reply) : mutexAcquire.decode(reply);
  }

  /** An ask that is answered with a place. */
  async held(session: string, ask?: Ask): Promise<Held> {
    const answer = await this.ask(session, ask);
    if (answer.is !== 'HELD') throw new Error(`expected HELD, got ${JSON.stringify(answer)}`);
    return answer;
  }

  releaseCall(session: string, { mode = 'plain', isVote = 0 }: Ending = {}): ScriptCall {
    const holder = this.holderOf(session);
    const terms = { line: LINE, channel: CHANNEL, mode, isVote };
    return this.kind === 'lock'
      ? lockRelease.call({ ...terms, lock: KEY, fence: FENCE, holder })
      : mutexRelease.call({ ...terms, mutex: KEY, token: holder });
  }

  /** The run of hand-offs has just begun, unless `isRun`: those who poll get no window, however slow the machine is. */
  async release(session: string, ending: Ending = {}, client?: Redis): Promise<unknown> {
    const stated = this.releaseCall(session, ending);
    const call = this.kind === 'mutex' && ending.isRun !== true ? { ...stated, script: UNPOLLED } : stated;
    await this.#database.load(call.script);
    // Sent in one go, so that no time passes between the two.
    const begun = ending.isRun === true ? null : this.#database.redis.eval(BEGIN_RUN, 1, LINE);
    const reply = await this.#database.send(call, client);
    await begun;
    return this.kind === 'lock' ? lockRelease.decode(reply) : mutexRelease.decode(reply);
  }

  /** A process that hears of its grants. */
  listen(session: string, mode: 'plain' | 'sharded' = 'plain'): Promise<Messages> {
    return this.#database.listen(this.channelOf(session), mode);
  }

  /** Whose the key is; null: it is free. */
  async owner(): Promise<string | null> {
    const { redis } = this.#database;
    const holder = this.kind === 'lock' ? (await redis.hkeys(KEY))[0] : await redis.get(KEY);
    if (holder === undefined || holder === null) return null;
    return Buffer.from(holder.split(/[-:]/)[0] as string, 'hex').toString();
  }

  /** Somebody of another library has the key. */
  async holdByGuest(): Promise<void> {
    const { redis } = this.#database;
    const uuid = '0b7c1d52-3f64-4a8e-9c05-7d1e2f3a4b5c';
    if (this.kind === 'mutex') return void (await redis.set(KEY, uuid, 'PX', LEASE_MS));
    await redis.hset(KEY, `${uuid}:41`, '1');
    await redis.pexpire(KEY, LEASE_MS);
  }

  /** The sessions in line, in their order. */
  async order(): Promise<string[]> {
    const fields = await this.#database.redis.hgetall(LINE);
    const places = Object.keys(fields)
      .filter((field) => /^\d+$/.test(field))
      .sort((a, b) => Number(a) - Number(b));
    for (const place of places) {
      const [holder] = (fields[place] as string).split(' ');
      if (fields[`#${holder}`] !== place)
        throw new Error(`the ticket at ${place} is not where its holder says`);
    }
    return places.map((place) => ((fields[place] as string).split(' ')[1] as string).split('.')[2] as string);
  }

  async field(name: string): Promise<number> {
    return Number(await this.#database.redis.hget(LINE, name));
  }

  async ticketOf(session: string): Promise<string> {
    const { redis } = this.#database;
    const place = await redis.hget(LINE, `#${this.holderOf(session)}`);
    return (await redis.hget(LINE, place as string)) as string;
  }
}
