/** Commands of every family with random arguments, wrong types and wrong options among them. */
import fc from 'fast-check';
import type { Request } from './script-requests.ts';
import { HOLDERS, KEYS, LEASES_MS, LEASES_S } from './vocabulary.ts';

type Words = fc.Arbitrary<readonly string[]>;

const key = fc.constantFrom(...KEYS);
const field = fc.constantFrom('f', 'g', ...HOLDERS);
const value = fc.constantFrom(
  'v',
  '1',
  '-7',
  '0.5',
  '',
  '9007199254740993',
  '9223372036854775807',
  'ä',
  HOLDERS[0],
);
const integer = fc.constantFrom(
  '1',
  '-1',
  '3',
  '9223372036854775807',
  '-9223372036854775808',
  'x',
  '01',
  '+1',
  '',
);
const index = fc.constantFrom('0', '1', '-1', '2', '-3', '100', 'x');
const score = fc.constantFrom(
  '1',
  '2',
  '2.5',
  '-1',
  '0.1',
  'inf',
  '-inf',
  '1e3',
  '3.0e-5',
  '123456789012345678',
  'x',
  '',
);
const bound = fc.constantFrom('-inf', '+inf', '1', '(1', '2.5', '(2.5', '0', 'x');
const seconds = fc.constantFrom(...LEASES_S, '0', '-1', 'x', '9223372036854775807');
const milliseconds = fc.constantFrom(...LEASES_MS, '0', '-1', 'x', '9223372036854775807');
const pastS = fc.constantFrom('1', '0', '-1');

const words = (...parts: readonly fc.Arbitrary<string>[]): Words => fc.tuple(...parts);
const option = (...names: string[]): Words =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.subarray(names, { maxLength: Math.min(2, names.length) }) },
  );
const some = (part: Words, least: number): Words =>
  fc.array(part, { minLength: least, maxLength: 3 }).map((parts) => parts.flat());

function command(name: string, ...parts: readonly Words[]): fc.Arbitrary<Request> {
  return fc.tuple(...parts).map((groups) => [name, ...groups.flat()]);
}

const lifetime: Words = fc.oneof(
  fc.constant([]),
  words(fc.constant('PX'), milliseconds),
  words(fc.constant('EX'), seconds),
  words(fc.constant('PXAT'), pastS),
  fc.constant(['KEEPTTL']),
  fc.constant(['PX']),
);

const STRINGS = [
  command('SET', words(key, value), lifetime, option('NX', 'XX', 'GET')),
  command('GET', words(key)),
  command('GETDEL', words(key)),
  command('GETSET', words(key, value)),
  command('SETNX', words(key, value)),
  command('SETEX', words(key, seconds, value)),
  command('PSETEX', words(key, milliseconds, value)),
  command('MGET', some(words(key), 1)),
  command('APPEND', words(key, value)),
  command('STRLEN', words(key)),
  command('INCR', words(key)),
  command('DECR', words(key)),
  command('INCRBY', words(key, integer)),
  command('DECRBY', words(key, integer)),
];

const HASHES = [
  command('HSET', words(key), some(words(field, value), 1)),
  command('HSET', words(key, field)),
  command('HMSET', words(key), some(words(field, value), 1)),
  command('HSETNX', words(key, field, value)),
  command('HGET', words(key, field)),
  command('HMGET', words(key), some(words(field), 1)),
  command('HDEL', words(key), some(words(field), 1)),
  command('HEXISTS', words(key, field)),
  command('HLEN', words(key)),
  command('HSTRLEN', words(key, field)),
  command('HGETALL', words(key)),
  command('HKEYS', words(key)),
  command('HVALS', words(key)),
  command('HINCRBY', words(key, field, integer)),
];

const LISTS = [
  command('RPUSH', words(key), some(words(field), 1)),
  command('LPUSH', words(key), some(words(field), 1)),
  command('RPUSHX', words(key, field)),
  command('LPUSHX', words(key, field)),
  command('LPOP', words(key)),
  command('RPOP', words(key, index)),
  command('LLEN', words(key)),
  command('LINDEX', words(key, index)),
  command('LRANGE', words(key, index, index)),
  command('LREM', words(key, index, field)),
  command('LSET', words(key, index, value)),
  command('LTRIM', words(key, index, index)),
  command('LINSERT', words(key, fc.constantFrom('BEFORE', 'after', 'x'), field, value)),
];

const SETS = [
  command('SADD', words(key), some(words(field), 1)),
  command('SREM', words(key), some(words(field), 1)),
  command('SCARD', words(key)),
  command('SISMEMBER', words(key, field)),
  command('SMEMBERS', words(key)),
];

const SORTED_SETS = [
  command('ZADD', words(key), option('NX', 'XX', 'GT', 'LT', 'CH', 'INCR'), some(words(score, field), 1)),
  command('ZADD', words(key, score)),
  command('ZINCRBY', words(key, score, field)),
  command('ZREM', words(key), some(words(field), 1)),
  command('ZSCORE', words(key, field)),
  command('ZCARD', words(key)),
  command('ZCOUNT', words(key, bound, bound)),
  command('ZRANK', words(key, field)),
  command('ZREVRANK', words(key, field)),
  command('ZRANGE', words(key, index, index), option('REV', 'WITHSCORES')),
  command('ZRANGE', words(key, bound, bound), fc.constant(['BYSCORE']), option('REV', 'WITHSCORES')),
  command('ZRANGEBYSCORE', words(key, bound, bound), option('WITHSCORES')),
  command('ZRANGEBYSCORE', words(key, bound, bound), fc.constant(['LIMIT']), words(index, index)),
  command('ZREVRANGEBYSCORE', words(key, bound, bound), option('WITHSCORES')),
  command('ZREMRANGEBYSCORE', words(key, bound, bound)),
  command('ZPOPMIN', words(key)),
];

const KEY_SPACE = [
  command('DEL', some(words(key), 1)),
  command('UNLINK', some(words(key), 1)),
  command('EXISTS', some(words(key), 1)),
  command('TYPE', words(key)),
  command('RENAME', words(key, key)),
  command('PEXPIRE', words(key, milliseconds), option('NX', 'XX', 'GT', 'LT')),
  command('EXPIRE', words(key, seconds), option('NX', 'XX', 'GT', 'LT', 'ZZ')),
  command('PEXPIREAT', words(key, pastS)),
  command('EXPIREAT', words(key, fc.constantFrom('1', 'x'))),
  command('PERSIST', words(key)),
  command('PTTL', words(key)),
  command('TTL', words(key)),
  command('PEXPIRETIME', words(key)),
  command('EXPIRETIME', words(key)),
  command('SCAN', words(fc.constantFrom('0', 'x')), option('MATCH', 'COUNT')),
];

const REST = [
  command('PUBLISH', words(key, value)),
  command('PUBSUB', words(fc.constantFrom('NUMSUB', 'numsub', 'CHANNELS')), some(words(key), 0)),
  command('ECHO', words(value)),
  command('PING'),
  command('SELECT', words(fc.constantFrom('0', '0', '99', 'x'))),
  command('GET'),
  command('HGET', words(key)),
  command('SCRIPT', words(fc.constant('EXISTS'), value)),
  command('EVALSHA', words(fc.constant('ffffffffffffffffffffffffffffffffffffffff'), index)),
  command('WAIT', words(fc.constant('0'), fc.constantFrom('0', '10', '-1', 'x'))),
];

export const commandRequest: fc.Arbitrary<Request> = fc.oneof(
  fc.oneof(...STRINGS),
  fc.oneof(...HASHES),
  fc.oneof(...LISTS),
  fc.oneof(...SETS),
  fc.oneof(...SORTED_SETS),
  fc.oneof(...KEY_SPACE),
  fc.oneof(...REST),
);

/** The same, called by a script: through the conversions to Lua and back. */
export const calledRequest: fc.Arbitrary<Request> = commandRequest
  .filter(([name = '']) => !['SELECT', 'SCRIPT', 'EVALSHA', 'WAIT', 'SCAN'].includes(name))
  .chain((request) =>
    fc
      .constantFrom('return redis.call(unpack(ARGV))', 'local r = redis.pcall(unpack(ARGV))\nreturn r')
      .map((source) => ['EVAL', source, '0', ...request]),
  );
