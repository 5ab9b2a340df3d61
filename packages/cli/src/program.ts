/**
 * The grammar of the command line. `--help`, the completions and the manual page are all made from it. What a command
 * does is loaded only when it is called: `--help` must be there at once.
 */
import { Command, Option } from 'commander';
import type { RunFlags } from './commands/run.ts';
import { EXIT } from './exit-codes.ts';
import { duration, integer, withServers } from './options.ts';

export function buildProgram(version: string): Command {
  const program = new Command('holdfast')
    .description('Distributed locks on Redis, from the command line.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this')
    .helpCommand('help [command]', 'print the help of a command')
    .enablePositionalOptions()
    .configureHelp({ showGlobalOptions: false });
  addRun(program);
  return program;
}

/** The exit code is the result of the command. */
function exitWith(work: Promise<number>): Promise<void> {
  return work.then((code) => {
    process.exitCode = code;
  });
}

function addRun(program: Command): void {
  withServers(program.command('run'))
    .summary('run a command under a lock')
    .description(
      'Takes the lock, runs the command, keeps the lock while it runs, and lets go. The exit code is that of the command. ' +
        'When the lock is lost, the whole process group of the command gets SIGTERM and, after the grace, SIGKILL, ' +
        'before anybody else can get the lock. The command finds HOLDFAST_LOCK, HOLDFAST_FENCE and HOLDFAST_SESSION in ' +
        'its environment.',
    )
    .argument('<name>', 'the name of the lock')
    .argument('<command...>', 'the command and its arguments, best after --')
    .option('--wait <time>', 'wait this long for the lock (default: as long as it takes)', duration)
    .option('--no-wait', 'do not wait: somebody else holds it, so exit')
    .addOption(
      new Option('--lease <time>', 'how long the lock outlives us when we are killed')
        .argParser(duration)
        .default(30_000, '30s'),
    )
    .option(
      '--grace <time>',
      'from SIGTERM to SIGKILL (default: 5s, less with a lease under 10.5s)',
      duration,
    )
    .option('--on-busy-exit <code>', 'the exit code when somebody else holds it', integer(0, 255), EXIT.busy)
    .option('--shared', 'hold it together with other sharers: comes with the read-write lock')
    .option('--slots <count>', 'let so many run at once: comes with the semaphore')
    .passThroughOptions()
    .action(async (name: string, words: string[], flags: RunFlags) => {
      const { run } = await import('./commands/run.ts');
      // The dashes end our options; they are not the command.
      await exitWith(run(name, words[0] === '--' ? words.slice(1) : words, flags));
    });
}
