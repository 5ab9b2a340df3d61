/**
 * A resource that checks the fence (fencing token). It refuses the late write of an owner that was paused and has
 * lost the lock without noticing.
 *
 *     npx tsx examples/fenced-write/main.ts
 */
import { Locks } from 'holdfast';
import { Redis } from 'ioredis';

/** Compares the fence and writes, in one atomic step. The fence of the last writer is stored beside the data. */
const WRITE = `
  local last = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0')
  if tonumber(ARGV[1]) < last then return 0 end
  redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'balance', ARGV[2])
  return 1
`;

class Account {
  readonly #redis: Redis;
  readonly #key: string;

  constructor(redis: Redis, id: number) {
    this.#redis = redis;
    this.#key = `account:${id}`;
  }

  async balance(): Promise<number> {
    return Number(await this.#redis.hget(this.#key, 'balance'));
  }

  async write(balance: number, fence: number): Promise<void> {
    const isWritten = await this.#redis.eval(WRITE, 1, this.#key, fence, balance);
    if (isWritten === 0) throw new Error(`${this.#key}: a later owner has written; this write is refused`);
  }
}

/** Pauses the whole process, like a machine that is suspended: no timer fires, no signal aborts. */
function pauseProcess(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const redis = new Redis();
const account = new Account(redis, 7);
const slow = new Locks(redis);
const quick = new Locks(redis); // Behaves like a process on another machine.

// The slow owner reads the balance, decides, and is about to write 110.
const first = await slow.lock('account:7:lock').acquire({ leaseMs: 300, waitMs: 5_000 });
const decided = (await account.balance()) + 110;
pauseProcess(400);

// The slow owner's lease has expired in Redis. The quick owner gets the lock and writes 50.
await quick.lock('account:7:lock').using((lease) => account.write(50, lease.fence), { waitMs: 5_000 });

// The slow owner resumes in the middle of its write. `isHeld` would tell it; the account does not rely on that.
console.log(`it still holds the lock: ${first.isHeld}`);
await account.write(decided, first.fence).catch((error: Error) => console.log(error.message));
console.log(`the balance is ${await account.balance()}`);

await Promise.all([slow.close(), quick.close()]);
redis.disconnect();
