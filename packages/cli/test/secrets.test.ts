/** A password is never shown: not in an error, not in JSON, not in the list of processes. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { freePort } from '../../holdfast/test/support/servers/free-port.ts';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { toFailure } from '../src/failure.ts';
import { resolveAddresses } from '../src/servers/address.ts';
import { parseServerUrl, writeServerUrl } from '../src/servers/url.ts';
import { holdfast, start } from './support/holdfast.ts';

const redis = useRedis();

/** Ways to write a URL, right and wrong, with the password in it. */
const WAYS: readonly ((password: string) => string)[] = [
  (password) => `redis://user:${password}@host:6379/0`,
  (password) => `rediss://:${password}@host`,
  (password) => `redis://user:${password}`,
  (password) => `redis://user:${password}@`,
  (password) => `redis://user:1234/${password}@host`,
  (password) => `redis://user:${password}@host:port`,
  (password) => `redis://user:${password}@ho st`,
  (password) => `redis://user:${password}@host/db`,
  (password) => `redis://user:${password}@host?x=1`,
  (password) => `redis:user:${password}@host`,
  (password) => `http://user:${password}@host`,
  (password) => `user:${password}@host`,
  (password) => `unix://user:${password}@/run/redis.sock`,
  (password) => password,
];

/** Long enough not to be found in our own words, and with everything that has a meaning in a URL. */
const password = fc
  .array(fc.constantFrom(...'%,/@:#?&=+[]\\ "\'ABCXYZ0189äß日👍\u001b\n'), { minLength: 9, maxLength: 24 })
  .map((characters) => characters.join(''))
  .filter((text) => text.trim().length >= 9 && /[A-Z0-9]{2}|[^A-Z0-9 ]{3}/.test(text));

describe('for any password', () => {
  test('no message of a wrong address has it, or the half of it', () => {
    fc.assert(
      fc.property(password, fc.constantFrom(...WAYS), fc.boolean(), (secret, write, isVariable) => {
        const url = write(secret);
        const [flags, environment] = isVariable ? [{}, { HOLDFAST_REDIS_URL: url }] : [{ redis: [url] }, {}];
        const said = (() => {
          try {
            return resolveAddresses(flags, environment)
              .map(({ label }) => label)
              .join(' ');
          } catch (error) {
            expect(toFailure(error).exitCode).toBe(64);
            return toFailure(error).message;
          }
        })();
        const half = secret.slice(0, Math.ceil(secret.length / 2)).trim();
        expect(said).not.toContain(secret);
        if (half.length >= 5) expect(said).not.toContain(half);
      }),
      { numRuns: 3_000 },
    );
  });

  test('it is read from a URL as it was written, unless a percent sign stands alone in it', () => {
    fc.assert(
      fc.property(password, (secret) => {
        fc.pre(!/[%\n]/.test(secret));
        expect(parseServerUrl(`redis://me:${secret}@host:1`, '').password).toBe(secret);
      }),
    );
  });

  test('it is read back from the URL that other programs are given', () => {
    fc.assert(
      fc.property(password, password, (secret, user) => {
        const url = `redis://${encodeURIComponent(user)}:${encodeURIComponent(secret)}@host:1/2`;
        const written = writeServerUrl(parseServerUrl(url, ''));
        expect(new URL(written).hostname).toBe('host');
        expect(parseServerUrl(written, '')).toMatchObject({
          username: user,
          password: secret,
          port: 1,
          db: 2,
        });
      }),
    );
  });
});

describe.concurrent('on the command line', () => {
  test.each([
    ['with a comma', 'redis://user:hunter2,x@127.0.0.1:1', 69],
    ['with a slash', 'redis://user:1234/hunter2@127.0.0.1:1', 69],
    ['with an @', 'redis://user:x@hunter2@127.0.0.1:1', 69],
    ['with a percent sign', 'redis://user:100%hunter2@127.0.0.1:1', 64],
    ['before a host that is missing', 'redis://user:hunter2', 64],
  ])('a password %s is not told, and there is no stack', async (_what, url, code) => {
    for (const env of [{ HOLDFAST_REDIS_URL: url }, { REDIS_URL: url }, {}]) {
      const args = Object.keys(env).length === 0 ? ['--redis', url] : [];
      const ran = await holdfast(['inspect', 'job', ...args, '--json'], { env });
      expect(ran.stderr).toMatch(/^holdfast: [^\n]*\n$/);
      expect(ran.stderr).not.toContain('hunter2');
      expect(ran).toMatchObject({ code, stdout: '' });
    }
  });

  test.each(['redis://:hunter2@host', 'redis://u:my hunter2@host', 'redis://u:my\nhunter2@host'])(
    'a URL in the wrong place is told without its password: %j',
    async (url) => {
      const ran = await holdfast([url, 'ls']);
      expect(ran).toMatchObject({ code: 64, stdout: '' });
      expect(ran.stderr).toMatch(/^holdfast: unknown command 'redis:\/\/…@host'/);
      const value = await holdfast(['ls', `--limit=${url}`]);
      expect(value).toMatchObject({ code: 64, stdout: '' });
      expect(value.stderr).not.toContain('hunter2');
    },
  );

  test('a sentinel with a login and without a scheme is refused, and not repeated', async () => {
    for (const sentinel of [
      ['--sentinel', 'user:hunter2@127.0.0.1:1'],
      ['--sentinel=user:hunter2@127.0.0.1:1'],
    ]) {
      const ran = await holdfast(['ls', ...sentinel, '--sentinel-name', 'mymaster']);
      expect(ran).toMatchObject({ code: 64, stdout: '' });
      expect(ran.stderr).toMatch(
        /^holdfast: --sentinel: expected host:port, .* got an @ without redis:\/\/ before it\n$/,
      );
    }
  });
});

test('an empty HOLDFAST_REDIS_URL says nothing: REDIS_URL is looked at', () => {
  for (const empty of ['', ' ', ',']) {
    const [address] = resolveAddresses({}, { HOLDFAST_REDIS_URL: empty, REDIS_URL: 'redis://other:7' });
    expect(address?.label).toBe('redis://other:7');
  }
});

test('DEBUG does not print what is sent to the server, and the command of run gets it', async () => {
  await ask(redis.port, ['ACL', 'SETUSER', 'debugged', 'on', '>hunter2', '~*', '&*', '+@all']);
  const url = redis.url.replace('//', '//debugged:hunter2@');
  const env = { DEBUG: 'ioredis:*', HOLDFAST_REDIS_URL: url };
  const ran = await holdfast(['run', 'debugged', '--', 'sh', '-c', 'echo "$DEBUG"'], { env });
  expect(ran).toMatchObject({ code: 0, stdout: 'ioredis:*\n', stderr: '' });
});

test.each(['hunter2', 'my hunter2'])(
  'a password on the command line does not stay in the list of processes: %s',
  async (secret) => {
    await ask(redis.port, ['ACL', 'SETUSER', 'me', 'reset', 'on', `>${secret}`, '~*', '&*', '+@all']);
    const url = redis.url.replace('//', `//me:${secret}@`);
    const running = start(['run', '--redis', url, 'job', '--', 'sh', '-c', 'echo on; sleep 600']);
    await running.says('on');
    const shown = readFileSync(`/proc/${running.pid}/cmdline`, 'utf8');
    expect(shown).not.toContain('hunter2');
    expect(shown).toContain('holdfast run --redis redis://…@127.0.0.1');
    running.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 143 });
  },
);

describe('a user without a password', () => {
  const as = (user: string): string => redis.url.replace('//', `//${user}@`);

  test('is logged in where the server wants none', async () => {
    await ask(redis.port, ['ACL', 'SETUSER', 'open', 'on', 'nopass', '~*', '&*', '+@all']);
    const job = ['job', '--', 'sh', '-c', 'echo on; sleep 600'];
    const running = start(['run', '--redis', as('open'), ...job]);
    await running.says('on');
    expect(String(await ask(redis.port, ['CLIENT', 'LIST']))).toContain('user=open');
    running.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 143, stderr: '' });
  });

  test('is not taken for nobody: where a password is wanted, that is said', async () => {
    await ask(redis.port, ['ACL', 'SETUSER', 'shut', 'on', '>hunter2', '~*', '&*', '+@all']);
    const ran = await holdfast(['inspect', 'job', '--redis', as('shut')]);
    expect(ran).toMatchObject({ code: 77, stdout: '' });
    expect(ran.stderr).toMatch(/refuses this user name and password; no password was given: .*\n$/);
    const env = { HOLDFAST_REDIS_PASSWORD: 'hunter2' };
    expect(await holdfast(['inspect', 'job', '--redis', as('shut')], { env })).toMatchObject({ code: 1 });
  });
});

test('an address that is down is told without its login, in JSON too', async () => {
  const port = await freePort();
  const args = ['--redis', `redis://me:hunter2@127.0.0.1:${port}`, '--redis', redis.url];
  const ran = await holdfast(['doctor', '--json', ...args]);
  expect(ran.stdout + ran.stderr).not.toContain('hunter2');
  expect(ran.stdout).toContain(`redis://127.0.0.1:${port}`);
});
