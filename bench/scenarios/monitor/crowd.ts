/**
 * Locks of many sessions that change hands at an even pace, by scripts: what is measured is the monitor, and sessions of the
 * library would take the CPU that it is to be measured on.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';

const SESSIONS = 100;
const STEPS_PER_SECOND = 20;
/** Longer than the measurement: nothing expires. */
const LEASE_MS = 3_600_000;

/** ARGV: number of the first lock, how many, number of all, sessions as one text, a number that grows. */
const TAKE = `local sessions = {}
for session in string.gmatch(ARGV[4], '%S+') do sessions[#sessions + 1] = session end
local time = redis.call('TIME')
local fence = time[1] * 1000000 + time[2]
for i = 0, ARGV[2] - 1 do
  local number = (ARGV[1] + i * 37) % ARGV[3]
  local name = 'order:' .. string.format('%d', number)
  local session = sessions[(ARGV[5] + i) % #sessions + 1]
  redis.call('DEL', name)
  redis.call('HSET', name, session .. ':' .. string.format('%d', ARGV[5] + i), 1)
  redis.call('PEXPIRE', name, ${LEASE_MS})
  redis.call('SET', 'redisson_lock_token:{' .. name .. '}', string.format('%.0f', fence + i))
end
return 1`;
const TAKE_SHA = createHash('sha1').update(TAKE).digest('hex');

export class Crowd {
  /** Scripts that were sent, each of which asks for TIME once. */
  sent = 0;
  readonly #redis: Redis;
  readonly #count: number;
  readonly #sessions: readonly string[] = Array.from({ length: SESSIONS }, () => randomUUID());
  #taken = 0;

  constructor(redis: Redis, count: number) {
    this.#redis = redis;
    this.#count = count;
  }

  /** All locks are held, and every session has its record. */
  async gather(): Promise<void> {
    const pipeline = this.#redis.pipeline();
    for (const [index, session] of this.#sessions.entries()) {
      const record = `holdfast_session:${session}`;
      const application = ['billing', 'mailer', 'reports', 'checkout'][index % 4] ?? '';
      pipeline.hset(record, { application, host: `web-${index % 10}`, pid: String(1_000 + index) });
      pipeline.pexpire(record, LEASE_MS);
    }
    await pipeline.exec();
    await this.#redis.script('LOAD', TAKE);
    // 37 and the number of locks have no common divisor, so each is taken once.
    for (let at = 0; at < this.#count; at += 1_000) await this.#take(at * 37, 1_000);
  }

  /** Until it is stopped. */
  change(perSecond: number): () => void {
    const each = perSecond / STEPS_PER_SECOND;
    const beganMs = performance.now();
    let steps = 0;
    const timer = setInterval(() => {
      // By the clock: a timer that comes late does not lower the pace.
      const due = Math.floor(((performance.now() - beganMs) / 1_000) * STEPS_PER_SECOND);
      for (; steps < due; steps += 1) void this.#take(this.#taken * 37, each);
    }, 1_000 / STEPS_PER_SECOND);
    return () => clearInterval(timer);
  }

  /** Changes so far, also those that gathered the crowd. */
  get changes(): number {
    return this.#taken;
  }

  async #take(first: number, count: number): Promise<void> {
    const args = [first % this.#count, count, this.#count, this.#sessions.join(' '), this.#taken];
    this.#taken += count;
    this.sent += 1;
    await this.#redis.evalsha(TAKE_SHA, 0, ...args);
  }
}
