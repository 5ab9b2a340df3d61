/** A command line that is wrong is told before anything is connected. */
import { describe, expect, test } from 'vitest';
import { holdfast } from './support/holdfast.ts';

const JOB = ['job', '--', 'true'];

describe.concurrent('a command line', () => {
  test.each([
    [
      'with an unknown option',
      ['run', '--lese', '30s', ...JOB],
      /unknown option '--lese'\n\(Did you mean --lease\?\)/,
    ],
    ['with an unknown command', ['rum', ...JOB], /unknown command 'rum'\n\(Did you mean run\?\)/],
    ['without a name', ['run'], /missing required argument 'name'/],
    [
      'without a command',
      ['run', 'job', '--'],
      /missing required argument|expected a command after --, got none/,
    ],
    [
      'with a time without a unit',
      ['run', '--wait', '30', ...JOB],
      /Expected a time such as 500ms, 30s or 5m, got "30"/,
    ],
    [
      'with a lease too short',
      ['run', '--lease', '10ms', ...JOB],
      /--lease: expected at least 1\.0s, got 10ms/,
    ],
    [
      'with a grace too long',
      ['run', '--lease', '2s', '--grace', '1s', ...JOB],
      /--grace: expected at most 750ms/,
    ],
    ['with an exit code too large', ['run', '--on-busy-exit', '256', ...JOB], /from 0 to 255, got "256"/],
    [
      'with a name too long',
      ['run', 'x'.repeat(1025), '--', 'true'],
      /expected a lock name of at most 1024 bytes/,
    ],
    ['with --shared', ['run', '--shared', ...JOB], /--shared: comes with the read-write lock/],
    ['with --slots', ['run', '--slots', '3', ...JOB], /--slots: comes with the semaphore/],
    ['with --cluster', ['run', '--cluster', ...JOB], /--cluster: .* not supported by the library yet/],
    [
      'with a server twice',
      ['run', '--redis', 'redis://a', '--redis', 'redis://a', ...JOB],
      /got redis:\/\/a:6379 twice/,
    ],
    [
      'with a URL that is none',
      ['run', '--redis', 'localhost', ...JOB],
      /expected a URL such as .*, got "localhost"/,
    ],
    [
      'with a database that is none',
      ['run', '--redis', 'redis://a/b', ...JOB],
      /expected the number of a database/,
    ],
    ['with sentinels without a name', ['run', '--sentinel', 'a:1', ...JOB], /expected --sentinel-name/],
    ['with a name without sentinels', ['run', '--sentinel-name', 'a', ...JOB], /expected --sentinel with it/],
  ])('%s exits with 64 and says what was expected', async (_what, args, said) => {
    const ran = await holdfast(args);
    expect(ran.stderr).toMatch(said);
    expect(ran.stderr).toMatch(/^holdfast: /);
    expect(ran).toMatchObject({ code: 64, stdout: '' });
  });
});
