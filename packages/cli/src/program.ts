/**
 * The grammar of the command line. `--help`, the completions and the manual page are all made from it. What a command
 * does is loaded only when it is called: `--help` must be there at once.
 */
import { Argument, Command, Option } from 'commander';
import type { AuditFlags } from './commands/audit.ts';
import type { DemoFlags } from './commands/demo.ts';
import type { DevFlags } from './commands/dev.ts';
import type { DoctorFlags } from './commands/doctor.ts';
import type { JobFlags } from './commands/job.ts';
import type { ListFlags } from './commands/ls.ts';
import type { MonitorFlags } from './commands/monitor.ts';
import type { ReleaseFlags } from './commands/release.ts';
import type { RunFlags } from './commands/run.ts';
import type { WatchFlags } from './commands/watch.ts';
import type { ShellName } from './completion.ts';
import { EXIT } from './exit-codes.ts';
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
      'Acquires the lock, runs the command, renews the lock while the command runs, and releases it. The exit code is that of the command. ' +
        'When the lock can no longer be renewed, the whole process group of the command gets SIGTERM and, after the grace, SIGKILL, ' +
        'before anybody else can get the lock. The command finds HOLDFAST_LOCK, HOLDFAST_FENCE and HOLDFAST_SESSION in ' +
        'its environment.',
    )
    .argument('<name>', 'the name of the lock')
    .argument('<command...>', 'the command and its arguments, best after --')
    .option('--wait <time>', 'wait this long for the lock (default: as long as it takes)', duration)
    .option('--no-wait', 'do not wait: exit if somebody else holds it')
    .addOption(
      new Option('--lease <time>', 'how long the lock outlives us when we are killed; at least 1s')
        .argParser(duration)
        .default(30_000, '30s'),
    )
    .option(
      '--grace <time>',
      'from SIGTERM to SIGKILL (default: 5s, less with a lease under 10.5s)',
      timerDuration,
    )
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
      const { run } = await import('./commands/run.ts');
      const rest = readOptionsAfterName(command, words);
      await exitWith(run(name, rest, command.opts<RunFlags>()));
    });
}

function addJob(program: Command): void {
  withServers(program.command('job'))
    .summary('run a job now, outside of its schedule')
    .description(
      'Runs the command now, once, under the lock of the job, and records it as the last run of the job: what --once-per and ' +
        'schedules of programs do at a slot. A slot that is due and was not started counts as done by this run. Exits with 75 while ' +
        'a run of the job is at work.',
    )
    .addArgument(new Argument('<action>', 'what to do').choices(['run']))
    .argument('<name>', 'the name of the job')
    .argument('<command...>', 'the command and its arguments, best after --')
    .option(
      '--wait <time>',
      'wait this long while a run of the job is at work (default: not at all)',
      duration,
    )
    .addOption(
      new Option('--lease <time>', 'how long the lock outlives us when we are killed; at least 1s')
        .argParser(duration)
        .default(30_000, '30s'),
    )
    .option(
      '--grace <time>',
      'from SIGTERM to SIGKILL (default: 5s, less with a lease under 10.5s)',
      timerDuration,
    )
    .option('--on-busy-exit <code>', 'the exit code while a run is at work', integer(0, 255), EXIT.busy)
    .passThroughOptions()
    .action(async (_action: string, name: string, words: string[], _flags: JobFlags, command: Command) => {
      const { jobRun } = await import('./commands/job.ts');
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

const DAY_MS = 86_400_000;

function addMonitor(program: Command): void {
  withJson(withServers(program.command('monitor')))
    .summary('a live page, metrics and alerts')
    .description(
      'Serves a page that shows who holds what, who waits, what was lost and how the servers are; metrics for Prometheus at ' +
        '/metrics; and alerts, with --config. Only reads, within a stated budget. Listens on this machine only, unless there is ' +
        'a login: HOLDFAST_MONITOR_TOKEN, or --user with HOLDFAST_MONITOR_PASSWORD. SIGHUP reads the configuration again.',
    )
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('--port <number>', 'where to listen; 0 for any free port', integer(0, 65_535), 7_380)
    .option('--config <file>', 'rules and receivers of alerts (JSON with comments)')
    .option('--check-config', 'check --config, and exit')
    .option('--prometheus-rules', 'print the rules for Prometheus, and exit')
    .option('--fleet <name>', 'the name of these servers, for alerts and metrics (default: that of --config)')
    .option('--token-file <file>', 'ask for the token in this file')
    .option('--user <name>', 'ask for this user and the password')
    .option('--password-file <file>', 'the file with the password of --user')
    .addOption(
      new Option(
        '--writer <url>',
        'the same server by a user that may write; repeat it for a quorum',
      ).argParser(oneMore),
    )
    .option('--budget <percent>', 'read at this share of the usual pace', integer(10, 100), 100)
    .option('--actions', 'let those who are logged in take locks away and silence alerts')
    .option('--no-audit', 'do not write down what is done from the page')
    .option('--trust-proxy', 'believe X-Forwarded-For and X-Forwarded-Proto')
    .action(async (flags: MonitorFlags) => {
      const { monitor } = await import('./commands/monitor.ts');
      await exitWith(monitor(flags));
    });
  withJson(withServers(program.command('audit')))
    .summary('what operators did, and why')
    .description(
      'Prints the audit trail: who took which lock away, silenced or acknowledged an alert, when and why.',
    )
    .option('--lock <name>', 'only what was done to this lock')
    .addOption(new Option('--since <time>', 'how far back').argParser(duration).default(DAY_MS, '24h'))
    .option('--follow', 'go on, until Ctrl-C')
    .action(async (flags: AuditFlags) => {
      const { audit } = await import('./commands/audit.ts');
      await exitWith(audit(flags));
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
