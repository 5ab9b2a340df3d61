/**
 * The grammar of the command line. `--help`, the completions and the manual page are all made from it. What a command
 * does is loaded only when it is called: `--help` must be there at once.
 */
import { Argument, Command, Option } from 'commander';
import type { DemoFlags } from './commands/demo.ts';
import type { DevFlags } from './commands/dev.ts';
import type { DoctorFlags } from './commands/doctor.ts';
import type { ListFlags } from './commands/ls.ts';
import type { ReleaseFlags } from './commands/release.ts';
import type { WatchFlags } from './commands/watch.ts';
import type { ShellName } from './completion.ts';
import { exitWith } from './grammar/exit-with.ts';
import { addMonitor } from './grammar/monitoring.ts';
import { addJob, addRun } from './grammar/running.ts';
import type { ReaderFlags } from './locks/lock-reader.ts';
import { duration, integer, oneMore, timerDuration, withJson, withServers } from './options.ts';

export function buildProgram(version: string): Command {
  const program = new Command('holdfast')
    .description('Distributed locks on Redis, from the command line.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this')
    .helpCommand('help [command]', 'print the help of a command')
    .enablePositionalOptions()
    .configureHelp({ showGlobalOptions: false });
  addRun(program);
  addJob(program);
  addLooking(program);
  addRelease(program);
  addDoctor(program);
  addMonitor(program);
  addDemo(program);
  addDev(program);
  addCompletion(program);
  return program;
}

/** An option before the command is a common slip. */
export function hintFor(program: Command, command: Command, message: string): string[] {
  const [, flag] = /^unknown option '(--[a-z-]+)/.exec(message) ?? [];
  if (command !== program) return [];
  const having = program.commands.filter(({ options }) => options.some(({ long }) => long === flag));
  // The one that was meant, when that can be seen.
  const meant = having.find((one) => process.argv.includes(one.name())) ?? having[0];
  return meant === undefined
    ? []
    : [`(${flag} goes after the command: ${program.name()} ${meant.name()} ${flag} …)`];
}

const LIMIT_DEFAULT = 1_000;
const LIMIT_MAX = 1_000_000;
const ALL = 'also expiring strings that may be a mutex of another library, or a cached value';

function addLooking(program: Command): void {
  withJson(withServers(program.command('ls')))
    .summary('list the locks that are held')
    .description(
      'Lists the locks and mutexes that are held: by whom, for how long, how long still, and who comes next.',
    )
    .argument('[prefix]', 'only names that begin with this', '')
    .option('--all', ALL)
    .option('--jobs', 'list jobs instead: the last run, where, how long, how it ended, and the next slot')
    .option('--limit <count>', 'list at most this many', integer(1, LIMIT_MAX), LIMIT_DEFAULT)
    .action(async (prefix: string, flags: ListFlags) => {
      const { ls } = await import('./commands/ls.ts');
      await exitWith(ls(prefix, flags));
    });
  withJson(withServers(program.command('inspect')))
    .summary('show one lock')
    .description(
      'Shows all that is known of one lock, and who waits for it. Exits with 1 when nobody holds it.',
    )
    .argument('<name>', 'the name of the lock')
    .action(async (name: string, flags: ReaderFlags) => {
      const { inspect } = await import('./commands/inspect.ts');
      await exitWith(inspect(name, flags));
    });
  withJson(withServers(program.command('watch')))
    .summary('watch locks come and go')
    .description(
      'A live table on a terminal. In a pipe, or with --json, one JSON object a line for each change.',
    )
    .argument('[prefix]', 'only names that begin with this', '')
    .addOption(
      new Option('--every <time>', 'how often to read the locks')
        .argParser(timerDuration)
        .default(1_000, '1s'),
    )
    .option('--all', ALL)
    .option('--limit <count>', 'watch at most this many', integer(1, LIMIT_MAX), LIMIT_DEFAULT)
    .action(async (prefix: string, flags: WatchFlags) => {
      const { watch } = await import('./commands/watch.ts');
      await exitWith(watch(prefix, flags));
    });
}

function addRelease(program: Command): void {
  withJson(withServers(program.command('release')))
    .summary('take a lock away from its owner')
    .description(
      'Takes a lock away from the owner that it shows, gives it to the next in line, and says who lost it. The owner is ' +
        'notified at its next renewal at the latest; until then two owners may be at work. Asks first on a terminal. ' +
        'Exits with 75 and releases nothing when somebody else holds the lock by then.',
    )
    .argument('<name>', 'the name of the lock')
    .option('--force', 'required: confirms that the owner may be at work')
    .option('--reason <text>', 'required: why; told to the owner, and kept in the audit trail')
    .option('--no-audit', 'do not write it down, if the audit trail cannot be written')
    .option('--yes', 'do not ask')
    .action(async (name: string, flags: ReleaseFlags) => {
      const { release } = await import('./commands/release.ts');
      await exitWith(release(name, flags));
    });
}

function addDoctor(program: Command): void {
  withJson(withServers(program.command('doctor')))
    .summary('look for what can break locks')
    .description(
      'Connects to the servers and looks for what can break locks on them: version, role, persistence, eviction, replicas, ' +
        'clocks, rights, latency, members of a quorum that are one server. Takes and releases a lock of its own. Exits with ' +
        '0 when all is well, 1 with a warning, 2 with a problem; see --fail-on.',
    )
    .addOption(
      new Option('--fail-on <level>', 'exit with 0 unless a finding is at least this bad')
        .choices(['warning', 'problem'])
        .default('warning'),
    )
    .addOption(
      new Option('--lease <time>', 'the lease that your programs use')
        .argParser(duration)
        .default(30_000, '30s'),
    )
    .action(async (flags: DoctorFlags) => {
      const { doctor } = await import('./commands/doctor.ts');
      await exitWith(doctor(flags));
    });
}

function addDemo(program: Command): void {
  withJson(program.command('demo'))
    .summary('see it work in a minute')
    .description(
      'Sells a stock from several shop processes at once: without a lock, with it, with a shop that is killed while it holds ' +
        'the lock, and with one that is frozen past its lease. Needs no Redis: it starts one of its own.',
    )
    .addOption(new Option('--redis <url>', 'use this server; repeat it for a quorum').argParser(oneMore))
    .option('--instances <count>', 'how many shops', integer(1, 20), 3)
    .option('--stock <count>', 'how many items', integer(10, 1_000_000), 5_000)
    .option('--buyers <count>', 'how many buy at the same time', integer(2, 1_000), 60)
    .option('--seconds <count>', 'end each round after this many seconds', integer(1, 600), 12)
    .option('--no-chaos', 'leave out the rounds with a killed and a frozen shop')
    .option('--sql', 'keep the stock in SQLite, which refuses the late write; needs Node 22.13 or newer')
    .option('--watch', 'show the sale on the page of a monitor; on a terminal the page stays until Ctrl-C')
    .action(async (flags: DemoFlags) => {
      const { demo } = await import('./commands/demo.ts');
      await exitWith(demo(flags));
    });
}

function addDev(program: Command): void {
  withJson(program.command('dev'))
    .summary('a Redis for local work')
    .description(
      'Runs a small Redis for local work on the loopback interface until Ctrl-C. It keeps nothing.',
    )
    .option('--port <number>', 'where to listen; 0 for any free port', integer(0, 65_535), 6_379)
    .action(async (flags: DevFlags) => {
      const { dev } = await import('./commands/dev.ts');
      await exitWith(dev(flags));
    });
}

function addCompletion(program: Command): void {
  program
    .command('completion')
    .summary('completion for your shell')
    .description(
      'Prints a script that makes your shell complete commands and options. ' +
        'bash: source <(holdfast completion bash) in ~/.bashrc. zsh: source <(holdfast completion zsh) in ~/.zshrc. ' +
        'fish: holdfast completion fish > ~/.config/fish/completions/holdfast.fish.',
    )
    .addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: ShellName) => {
      const { completion } = await import('./completion.ts');
      process.stdout.write(completion(program, shell));
    });
}
