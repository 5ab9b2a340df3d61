/** Scripts meet the same globals, conversions and error texts as on a real server. */
import { describe, expect, test } from 'vitest';
import { askAll } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { EmbeddedNode } from '../src/index.ts';

const redis = useRedis();

const CONVERSIONS = [
  'return 3.99',
  'return -3.99',
  'return 2^60',
  'return 1/0',
  'return 0/0',
  'return true',
  'return false',
  'return nil',
  "return ''",
  'return {1, 2, nil, 4}',
  "return {1, 3.7, 'x', false, true, {ok = 'yes'}, {err = 'E no'}, {1, {2}}}",
  'return {double = 1.5}',
  "return {err = 'FOO bar'}",
  "return {ok = 'FINE'}",
  "return redis.error_reply('FOO bar')",
  "return redis.error_reply('-FOO bar')",
  "return redis.status_reply('FINE')",
  "return redis.sha1hex('abc')",
  "return redis.acl_check_cmd('PEXPIRE', 'key', 1)",
  "return type(redis.acl_check_cmd('get'))",
  "return tostring(1e15) .. ',' .. tostring(0.1) .. ',' .. tostring(2^53)",
  "redis.call('SET', 'n', 1e15) return redis.call('GET', 'n')",
  "redis.call('SET', 'n', 0.1) return redis.call('GET', 'n')",
  "redis.call('SET', 'n', 2^63) return redis.call('GET', 'n')",
  "redis.call('SET', 'n', -1.5e-7) return redis.call('GET', 'n')",
  "redis.call('SET', 'n', '\\0\\255\\200') return #redis.call('GET', 'n')",
  "redis.call('SET', 'n', 'ä') return redis.call('GET', 'n')",
  "return type(redis.call('GET', 'absent'))",
  "return redis.call('SET', 'n', '1')['ok']",
  "return redis.call('TYPE', 'absent')['ok']",
  "redis.call('ZADD', 'z', '0.1', 'm') return redis.call('ZSCORE', 'z', 'm')",
  'return #KEYS + #ARGV',
  "return string.format('%.0f|%s|%d', 2^53, 'x', 7)",
  "return {string.match('uptime:12\\r\\n', 'uptime:([^\\r\\n]*)')}",
  'return unpack({1, 2})',
  'return select(2, 1, 2, 3)',
  "return rawset({}, 1, 'x')",
  "return loadstring('return #KEYS')()",
  'local r = {pcall(function() return 1, 2 end)} return r',
  "return #redis.call('TIME')",
  'return redis.REDIS_VERSION_NUM > 0',
  'return redis.replicate_commands()',
  'return setmetatable({}, {__index = function(_, key) return key end})',
];

const REFUSALS = [
  'x = 1',
  'return x',
  'string.foo = 1',
  'redis.call = nil',
  '_G.x = 1',
  'return print',
  'return os',
  'return require',
  "return loadstring('return os')()",
  "loadstring('x = 1')()",
  "rawset(_G, 'x', 1)",
  'return dofile',
  "return redis.call('GET')",
  "return redis.call('GET', {})",
  'return redis.call()',
  'return redis.acl_check_cmd()',
  "return redis.acl_check_cmd('NOPE')",
  "return redis.acl_check_cmd('GET', {})",
  "return redis.call('NOPE')",
  "return redis.call('SUBSCRIBE', 'x')",
  "return redis.call('MULTI')",
  "return redis.call('EVAL', 'return 1', 0)",
  "return redis.call('WAIT', 0, 0)",
  "return redis.call('CLIENT', 'ID')",
  "redis.call('SET', 'k', 'v') return redis.call('HGET', 'k', 'f')",
  "redis.call('SET', 'k', 'v')\nlocal r = redis.pcall('HGET', 'k', 'f')\nreturn r",
  "redis.call('SET', 'k', 'v') return redis.pcall('HGET', 'k', 'f')['err']",
  "redis.call('SET', 'k', 'v')\nreturn {pcall(redis.call, 'HGET', 'k', 'f')}",
  "error('boo')",
  "error({err = 'My thing'})",
  'error()',
  "\nlocal function inner()\n  error('deep')\nend\ninner()",
  "local ok, message = pcall(error, 'caught') return message",
  'local t = nil\nreturn t.x',
  'if',
  "return redis.status_reply('a', 'b')",
];

const SHEBANGS = [
  '#!lua\nreturn 1',
  "#!lua flags=no-writes\nreturn redis.call('SET', 'a', 'b')",
  "#!lua flags=no-writes,allow-oom\nreturn redis.call('GET', 'absent')",
  "#!lua flags=allow-oom\nerror('second line')",
  '#!lua flags=zip\nreturn 1',
  '#!js\nreturn 1',
  '#!lua foo=1\nreturn 1',
  '#!lua',
];

async function expectSame(requests: readonly (readonly string[])[]): Promise<void> {
  await using node = new EmbeddedNode();
  const { port } = await node.listen();
  const [real, embedded] = await Promise.all([askAll(redis.port, requests), askAll(port, requests)]);
  for (const [i, request] of requests.entries()) {
    expect({ request, reply: embedded[i] }).toEqual({ request, reply: real[i] });
  }
}

const evals = (sources: readonly string[]): string[][] =>
  sources.map((source) => ['EVAL', source, '1', 'key', 'argument']);

describe('on the embedded node as on a real server', () => {
  test('values are converted both ways alike', () => expectSame(evals(CONVERSIONS)));

  test('a script is refused and fails in the same words', () => expectSame(evals(REFUSALS)));

  test('the first line of a script is understood alike', () => expectSame(evals(SHEBANGS)));

  test('scripts are found by their hash until they are flushed', () => {
    const sha = 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db';
    return expectSame([
      ['EVALSHA', sha, '0'],
      ['SCRIPT', 'LOAD', 'return 1'],
      ['EVALSHA', sha, '0'],
      ['EVALSHA', sha.toUpperCase(), '0'],
      ['SCRIPT', 'EXISTS', sha, 'nonsense'],
      ['SCRIPT', 'FLUSH'],
      ['EVALSHA', sha, '0'],
      ['EVAL', 'return 1', '0'],
      ['EVALSHA', sha, '0'],
      ['EVAL_RO', "return redis.call('SET', 'a', 'b')", '0'],
      ['EVAL', 'return 1', '2', 'a'],
      ['EVAL', 'return 1', '-1'],
      ['EVAL', 'return 1', 'x'],
    ]);
  });
});

describe('what Redis has and the embedded node has not', () => {
  const ABSENT = ['return cjson', 'return math.random()', 'redis.setresp(3)', 'return {map = {a = 1}}'];

  test('is refused by name', async () => {
    await using node = new EmbeddedNode();
    for (const source of ABSENT)
      await expect(node.command('EVAL', source, '0')).rejects.toThrow('the embedded node does not implement');
    await expect(node.command('XADD', 's', '*', 'a', 'b')).rejects.toThrow("unknown command 'XADD s'");
    await expect(node.command('ZRANGE', 'z', '-', '+', 'BYLEX')).rejects.toThrow('ZRANGE BYLEX');
  });

  test('a script that failed leaves the next one alone', async () => {
    await using node = new EmbeddedNode();
    await expect(node.command('EVAL', 'error({})', '0')).rejects.toThrow();
    expect(await node.command('EVAL', 'return {#KEYS, #ARGV}', '0', 'a')).toEqual([0, 1]);
  });
});
