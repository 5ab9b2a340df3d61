/**
 * A kind of lock for tests alone: readers that share a name, kept out by a writer's key beside it. It shows a protocol
 * with two keys and without a limit, whose holds serve many local owners at once. A hash has one field for each holder,
 * with the end of its lease.
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
  holdsMax: 1,
  ownersMax: Number.POSITIVE_INFINITY,
  holderPer: 'wait',
  handoversMax: Number.POSITIVE_INFINITY,
  isHolderSecret: false,
  expected: 'a hash of readers',
};

const ACQUIRE = testScript(
  'readers.acquire',
  `${NOW}
local holder, lease_ms, not_after_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if not_after_ms > 0 and now_ms > not_after_ms then return { 3, now_ms } end
local writes_ms = redis.call('PTTL', KEYS[2])
if writes_ms ~= -2 then return { 2, now_ms, writes_ms } end
local ends_ms = tonumber(redis.call('HGET', KEYS[1], holder) or 0)
redis.call('HSET', KEYS[1], holder, math.max(ends_ms, now_ms + lease_ms))
if redis.call('PTTL', KEYS[1]) < lease_ms then redis.call('PEXPIRE', KEYS[1], lease_ms) end
return { 1, now_ms }`,
);

const RELEASE = testScript(
  'readers.release',
  `if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return { 6 } end
if ARGV[3] == 'nobody' or redis.call('EXISTS', KEYS[1]) == 1 then return { 5, 0 } end
return { 5, redis.call('PUBLISH', ARGV[2], '0') }`,
);

const RENEW = testScript(
  'readers.renew',
  `${NOW}
local answers = {}
for i, key in ipairs(KEYS) do
  local holder, lease_ms = ARGV[2 * i - 1], tonumber(ARGV[2 * i])
  local ends_ms = tonumber(redis.call('HGET', key, holder) or 0)
  answers[i] = ends_ms > now_ms and 7 or 6
  if ends_ms > now_ms then
    redis.call('HSET', key, holder, math.max(ends_ms, now_ms + lease_ms))
    if redis.call('PTTL', key) < lease_ms then redis.call('PEXPIRE', key, lease_ms) end
  end
end
return answers`,
);

const RENEWAL: StatementBatch = renewalBy(RENEW);

export class ReadersProtocol implements Protocol {
  readonly kind = 'readers';
  readonly policy: Policy = POLICY;
  readonly renewal: StatementBatch = RENEWAL;
  readonly readRelease: (reply: Reply) => ReleaseAnswer = readRelease;
  readonly readAcquire: (reply: Reply) => AcquireAnswer = readAcquire;
  readonly name: string;
  readonly key: string;
  readonly channel: string;
  /** Who has this key keeps the readers out. */
  readonly writerKey: string;

  constructor(name: string) {
    this.name = name;
    this.key = `{${name}}`;
    this.writerKey = `{${name}}:writer`;
    this.channel = `readers:{${name}}`;
  }

  newHolder(ids: HolderIds): string {
    return `${ids.session}:${ids.nextNumber()}`;
  }

  acquire({ holder, leaseMs }: HoldTerms, { notAfterMs }: AcquireLimits): ScriptCall {
    const args = [holder, leaseMs, notAfterMs].map(String);
    return { script: ACQUIRE, keys: [this.key, this.writerKey], args };
  }

  release(holder: string, mode: PubSubMode | 'nobody'): ScriptCall {
    return { script: RELEASE, keys: [this.key], args: [holder, this.channel, mode] };
  }
}
