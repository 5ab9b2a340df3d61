/** The grammar of the commands that run another command: `run` and `job`. */
import { Argument, type Command, Option } from 'commander';
import type { JobFlags } from '../commands/job.ts';
import type { RunFlags } from '../commands/run.ts';
import { EXIT } from '../exit-codes.ts';
import { duration, integer, timerDuration, withServers } from '../options.ts';
import { exitWith } from './exit-with.ts';

function leaseOption(): Option {
  return new Option('--lease <time>', 'how long the lock outlives us when we are killed; at least 1s')
    .argParser(duration)
    .default(30_000, '30s');
}

function graceOption(): Option {
  return new Option(
    '--grace <time>',
    'from SIGTERM to SIGKILL (default: 5s, less with a lease under 10.5s)',
  ).argParser(timerDuration);
}

export function addRun(program: Command): void {
  withServers(program.command('run'))
    .summary('run a command under a lock')
    .description(
      'Acquires the lock, runs the command, renews the lock while the command runs, and releases it. The exit code is that of the command. ' +
        'When the lock can no longer be renewed, the whole process group of the command gets SIGTERM and, after the grace, SIGKILL, ' +
        'before anybody else can get the lock. The command finds HOLDFAST_LOCK, HOLDFAST_FENCE and HOLDFAST_SESSION in ' +
        'its environment.',
    )
    .argument('<name>', 'the name of the lock')
    .argument('<command...>', 'the command and its arguments, best after --')
    .option('--wait <time>', 'wait this long for the lock (default: as long as it takes)', duration)
    .option('--no-wait', 'do not wait: exit if somebody else holds it')
    .addOption(leaseOption())
    .addOption(graceOption())
    .option('--on-busy-exit <code>', 'the exit code when somebody else holds it', integer(0, 255), EXIT.busy)
    .option('--quiet', 'do not say who holds it while waiting')
    .option(
      '--once-per <time|cron>',
      "run once for each slot on one of all machines: every so often, such as 1h, or by a cron pattern, such as '30 2 * * *'",
    )
    .option('--time-zone <zone>', 'the time zone of the pattern (default: UTC)')
    .option('--attempts <count>', 'how often a slot may start (default: 1)', integer(1, 1_000))
    .option(
      '--early <time>',
      'wait for the next slot if it is this near (default: a tenth of the time between slots, at most 1m)',
      timerDuration,
    )
    .option('--late <time>', 'how late a slot may start (default: until the next)', duration)
    .passThroughOptions()
    .action(async (name: string, words: string[], _flags: RunFlags, command: Command) => {
      const { run } = await import('../commands/run.ts');
      const rest = readOptionsAfterName(command, words);
      await exitWith(run(name, rest, command.opts<RunFlags>()));
    });
}

export function addJob(program: Command): void {
  withServers(program.command('job'))
    .summary('run a job now, outside of its schedule')
    .description(
      'Runs the command now, once, under the lock of the job, and records it as the last run of the job: what --once-per and ' +
        'schedules of programs do at a slot. A slot that is due and was not started counts as done by this run, and so does one in retry: the ' +
        'attempts that it had left are not made. Exits with 75 while a run of the job is at work.',
    )
    .addArgument(new Argument('<action>', 'what to do').choices(['run']))
    .argument('<name>', 'the name of the job')
    .argument('<command...>', 'the command and its arguments, best after --')
    .option(
      '--wait <time>',
      'wait this long while a run of the job is at work (default: not at all)',
      duration,
    )
    .addOption(leaseOption())
    .addOption(graceOption())
    .option('--on-busy-exit <code>', 'the exit code while a run is at work', integer(0, 255), EXIT.busy)
    .passThroughOptions()
    .action(async (_action: string, name: string, words: string[], _flags: JobFlags, command: Command) => {
      const { jobRun } = await import('../commands/job.ts');
      // Options may stand between the action and the name, too.
      const [job = '', ...after] = readOptionsAfterName(command, [name, ...words]);
      const rest = readOptionsAfterName(command, after);
      await exitWith(jobRun(job, rest, command.opts<JobFlags>()));
    });
}

/**
 * Options of `run` may stand behind the name too. The command begins at the first word that is none, or behind the two
 * dashes; everything from there on is its own.
 */
function readOptionsAfterName(command: Command, words: readonly string[]): string[] {
  const { operands, unknown } = command.parseOptions([...words]);
  const [wrong] = unknown;
  if (wrong === '--help' || wrong === '-h') command.help();
  if (wrong !== undefined)
    command.error(`error: unknown option '${wrong}'; the command goes after --`, {
      code: 'commander.unknownOption',
    });
  return operands;
}
