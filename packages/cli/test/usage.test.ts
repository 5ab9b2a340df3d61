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
    [
      'with --cluster and a name whose keys would live apart',
      ['run', '--cluster', 'a{b', '--', 'true'],
      /expected a lock name for a cluster without braces/,
    ],
    [
      'with a URL that is none',
      ['ls', '--redis', 'localhost'],
      /--redis: expected a URL such as .*, got something without redis:/,
    ],
    [
      'with an option before the command',
      ['--redis', 'redis://localhost', 'ls'],
      /unknown option '--redis'\n\(--redis goes after the command: holdfast ls --redis …\)\n$/,
    ],
    [
      'with an option before a command that is not ls',
      ['--lease', '10s', 'doctor'],
      /\(--lease goes after the command: holdfast doctor --lease …\)\n$/,
    ],
    [
      'with an option and no command',
      ['--on-busy-exit', '0'],
      /\(--on-busy-exit goes after the command: holdfast run --on-busy-exit …\)\n$/,
    ],
    [
      'with a grace longer than any timer',
      ['run', '--lease', '300d', '--grace', '30d', ...JOB],
      /Expected at most 24d 20h, got "30d"/,
    ],
    [
      'that looks less often than any timer',
      ['watch', '--every', '25d'],
      /Expected at most 24d 20h, got "25d"/,
    ],
    [
      'with an unknown option after the name',
      ['run', 'job', '--lese', '30s', '--', 'true'],
      /unknown option '--lese'; the command goes after --\n$/,
    ],
    ['with options and no command', ['run', 'job', '--wait', '5s'], /expected a command after --, got none/],
    ['with --shared, which there is not', ['run', '--shared', ...JOB], /unknown option '--shared'/],
    ['with --slots, which there is not', ['run', '--slots', '2', ...JOB], /unknown option '--slots'/],
    [
      'with another level than there is',
      ['doctor', '--fail-on', 'ok'],
      /--fail-on <level>' argument 'ok' is invalid. Allowed choices are warning, problem/,
    ],
    [
      'with slots that are too near',
      ['run', '--once-per', '0s', ...JOB],
      /--once-per: expected a time from 100ms to 366d, got "0s"/,
    ],
    [
      'with slots that are too far',
      ['run', '--once-per', '400d', ...JOB],
      /--once-per: expected a time from 100ms to 366d, got "400d"/,
    ],
    [
      'with a time zone for slots that have none',
      ['run', '--once-per', '1h', '--time-zone', 'Europe/Rome', ...JOB],
      /--time-zone: expected a cron pattern with it, got a time/,
    ],
    [
      'with a fleet that can be no label',
      ['monitor', '--port', '0', '--fleet', 'a b'],
      /--fleet: expected 1 to 64 letters, digits, dots, dashes and underscores, got "a b"\n$/,
    ],
    [
      'with a user that no login can have',
      ['monitor', '--port', '0', '--user', 'a:b', '--password-file', '/dev/null'],
      /--user: expected a name without a colon, and not empty, got "a:b"\n$/,
    ],
    [
      'with two kinds of login',
      ['monitor', '--port', '0', '--user', 'a', '--token-file', '/dev/null', '--password-file', '/dev/null'],
      /expected --token-file or --user, got both\n$/,
    ],
    ['with one shop and chaos', ['demo', '--instances', '1'], /expected at least 2, so that one may fail/],
  ])('%s exits with 64 and says what was expected', async (_what, args, said) => {
    const ran = await holdfast(args);
    expect(ran.stderr).toMatch(said);
    expect(ran.stderr).toMatch(/^holdfast: /);
    expect(ran).toMatchObject({ code: 64, stdout: '' });
  });
});
