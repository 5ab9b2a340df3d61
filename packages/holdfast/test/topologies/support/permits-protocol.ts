/**
 * A kind of lock for tests alone: N permits under one name. It shows that a kind brings a protocol and nothing else, here
 * one with many holds of one process at once. A sorted set has one member for each holder, with the end of its lease.
 */
import type { Reply, ScriptCall } from '../../../src/clients/client.ts';
import type {
  AcquireAnswer,
  AcquireLimits,
  HolderIds,
  HoldTerms,
  Policy,
  Protocol,
  PubSubMode,
  ReleaseAnswer,
  StatementBatch,
} from '../../../src/topologies/protocol.ts';
import { NOW, readAcquire, readRelease, renewalBy, testScript } from './test-script.ts';

const POLICY: Policy = {
  holdsMax: Number.POSITIVE_INFINITY,
  ownersMax: 1,
  holderPer: 'attempt',
  handoversMax: 0,
  isHolderSecret: false,
  expected: 'a sorted set of permits',
};

const ACQUIRE = testScript(
  'permits.acquire',
  `${NOW}
local holder, lease_ms, permits, not_after_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not_after_ms > 0 and now_ms > not_after_ms then return { 3, now_ms } end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now_ms)
if not redis.call('ZSCORE', KEYS[1], holder) and redis.call('ZCARD', KEYS[1]) >= permits then
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return { 2, now_ms, tonumber(first[2]) - now_ms }
end
redis.call('ZADD', KEYS[1], 'GT', now_ms + lease_ms, holder)
if redis.call('PTTL', KEYS[1]) < lease_ms then redis.call('PEXPIRE', KEYS[1], lease_ms) end
return { 1, now_ms }`,
);

const RELEASE = testScript(
  'permits.release',
  `if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return { 6 } end
if ARGV[3] == 'nobody' then return { 5, 0 } end
return { 5, redis.call('PUBLISH', ARGV[2], '0') }`,
);

const RENEW = testScript(
  'permits.renew',
  `${NOW}
local answers = {}
for i, key in ipairs(KEYS) do
  local holder, lease_ms = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  local ends_ms = tonumber(redis.call('ZSCORE', key, holder) or 0)
  answers[i] = ends_ms > now_ms and 7 or 6
  if ends_ms > now_ms then
    redis.call('ZADD', key, 'GT', now_ms + lease_ms, holder)
    if redis.call('PTTL', key) < lease_ms then redis.call('PEXPIRE', key, lease_ms) end
  end
end
return answers`,
);

const RENEWAL: StatementBatch = renewalBy(RENEW);

export class PermitsProtocol implements Protocol {
  readonly kind = 'permits';
  readonly policy: Policy = POLICY;
  readonly renewal: StatementBatch = RENEWAL;
  readonly readRelease: (reply: Reply) => ReleaseAnswer = readRelease;
  readonly readAcquire: (reply: Reply) => AcquireAnswer = readAcquire;
  readonly name: string;
  readonly key: string;
  readonly channel: string;
  readonly #permits: number;

  constructor(name: string, permits: number) {
    this.name = name;
    this.key = name;
    this.channel = `permits:{${name}}`;
    this.#permits = permits;
  }

  newHolder(ids: HolderIds): string {
    return `${ids.session}:${ids.nextNumber()}`;
  }

  acquire({ holder, leaseMs }: HoldTerms, { notAfterMs }: AcquireLimits): ScriptCall {
    const args = [holder, leaseMs, this.#permits, notAfterMs].map(String);
    return { script: ACQUIRE, keys: [this.key], args };
  }

  release(holder: string, mode: PubSubMode | 'nobody'): ScriptCall {
    return { script: RELEASE, keys: [this.key], args: [holder, this.channel, mode] };
  }
}
