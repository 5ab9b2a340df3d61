/**
 * A Redisson client as the server sees one: the documented effects of its re-entrant and fenced locks on keys and
 * channels, in scripts of our own.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

/** Free, or held by the same holder: a fence, one more entry, a full lease, nil. Otherwise what is left of the lease. */
const TRY = `
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return redis.call('PTTL', KEYS[1])
end
redis.call('INCR', KEYS[2])
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return nil`;

/** One entry less, and with the last of them the key and a message. Nil when it is not the holder's. */
const UNLOCK = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], '0')
return 1`;

const FORCE_UNLOCK = `
if redis.call('DEL', KEYS[1]) == 0 then return 0 end
redis.call('PUBLISH', KEYS[2], '0')
return 1`;

export class ForeignLock {
  readonly holder = `${randomUUID()}:${1 + Math.floor(Math.random() * 200)}`;
  readonly key: string;
  readonly fenceKey: string;
  readonly channel: string;
  readonly #redis: Redis;

  constructor(redis: Redis, name: string) {
    this.#redis = redis;
    this.key = name;
    this.fenceKey = `redisson_lock_token:{${name}}`;
    this.channel = `redisson_lock__channel:{${name}}`;
  }

  /** Null: it is ours. Otherwise for how long somebody else has it. */
  async tryLock(leaseMs: number): Promise<number | null> {
    return (await this.#redis.eval(TRY, 2, this.key, this.fenceKey, this.holder, leaseMs)) as number | null;
  }

  /** Subscribes, tries again, then sleeps until a message or the end of the lease it was told. */
  async lock(leaseMs: number): Promise<void> {
    if ((await this.tryLock(leaseMs)) === null) return;
    const subscriber = this.#redis.duplicate();
    let wake = (): void => {};
    subscriber.on('message', () => wake());
    await subscriber.subscribe(this.channel);
    try {
      for (;;) {
        // Before the attempt: a message that comes while it is under way must not be missed.
        const woken = new Promise<void>((resolve) => {
          wake = resolve;
        });
        const leftMs = await this.tryLock(leaseMs);
        if (leftMs === null) return;
        const timer = setTimeout(wake, leftMs);
        await woken;
        clearTimeout(timer);
      }
    } finally {
      subscriber.disconnect();
    }
  }

  /** The last fence given out, by whomever. */
  async fence(): Promise<number> {
    return Number(await this.#redis.get(this.fenceKey));
  }

  /** What its watchdog does. */
  async renew(leaseMs: number): Promise<void> {
    if ((await this.#redis.hexists(this.key, this.holder)) === 1)
      await this.#redis.pexpire(this.key, leaseMs);
  }

  /** 1: released, 0: entered less often, null: not ours. */
  async unlock(leaseMs = 30_000): Promise<number | null> {
    return (await this.#redis.eval(UNLOCK, 2, this.key, this.channel, this.holder, leaseMs)) as number | null;
  }

  async forceUnlock(): Promise<boolean> {
    return (await this.#redis.eval(FORCE_UNLOCK, 2, this.key, this.channel)) === 1;
  }
}
