/** Writes docs/operate/cli.md from the grammar, so that it cannot say anything else than `--help`. */
import type { Command, Option } from 'commander';
import { EXIT, EXIT_MEANINGS, type ExitName } from '../../src/exit-codes.ts';
import { buildProgram } from '../../src/program.ts';

const INTRODUCTION = `<!-- Written from packages/cli/src/program.ts: change that, then run \`npx vitest run packages/cli/test/manual.test.ts -u\`. -->

# The command line

\`npm install --global holdfast-cli\`, or \`npx holdfast-cli\`: what follows is the same as \`holdfast help\`.

Times are written with a unit: \`500ms\`, \`30s\`, \`5m\`. Options may stand before or after the name of a lock. Errors and warnings are
one line each on standard error. Colours are for terminals, and are off with \`NO_COLOR\`. What \`--json\` prints follows the schemas in
[packages/cli/schemas](../../packages/cli/schemas), which come with the package.

**Text from Redis.** Anybody who can write to Redis chooses names and owners. Control characters, line ends, bidirectional and
invisible characters in them are shown as escapes such as \`\\u{1b}\`, in errors too. \`--json\` has the text as it is, with the same characters
escaped as JSON does it.

## Servers

\`--redis\` takes a URL, such as \`redis://127.0.0.1:6379/0\` or \`rediss://user:password@host:6380\`; the second \`s\` is for TLS, and
\`unix:///path/to/socket\` works too. Given several times, the servers are a quorum. Without it the variables
\`HOLDFAST_REDIS_URL\` (several with commas between them) and \`REDIS_URL\` are looked at, then \`redis://127.0.0.1:6379\`.

**Logins.** Everything between \`://\` and the last \`@\` is the login, so a password may have \`/\`, \`@\` or \`,\` in it as they are. Only a \`%\`
must be written as \`%25\`. A password that should stay out of URLs goes to \`HOLDFAST_REDIS_PASSWORD\`, its user into the URL
(\`redis://user@host\`) or to \`HOLDFAST_REDIS_USERNAME\`. A user without a password logs in with an empty one. No error, warning or JSON
has a login in it. A password on the command line is taken out of the list of processes (\`ps\`) at the start; the history of your
shell still has it, and under \`npx\` the processes of npm show it for as long as they run. \`DEBUG\` is not looked at: with it the
Redis client would print passwords. The command of \`run\` gets that variable as it is.

**TLS.** \`--ca\` names the authorities to trust in place of those that Node knows. \`--cert\` and \`--key\` are for servers that ask for a
certificate. \`--insecure\` checks nothing, and says so: for a trial only. These four are refused when no server is \`rediss://\`.

With Sentinel: \`--sentinel host:26379 --sentinel-name mymaster\`, the first as often as there are sentinels. The login for the primary
is in the two variables. A login for the sentinels needs the form of a URL: \`--sentinel redis://user:password@host:26379\`. TLS to sentinels is not supported here, and refused.

With a Redis Cluster: \`--cluster\`, and \`--redis\` for one of its nodes or several; or \`HOLDFAST_REDIS_CLUSTER=1\` beside the variables above.`;

/** What deserves more words than \`--help\` has room for. */
const NOTES: Readonly<Record<string, string>> = {
  run: `\`\`\`sh
holdfast run migrate -- ./migrate.sh --all
holdfast run --no-wait --on-busy-exit 0 backup -- ./backup.sh
\`\`\`

**One at a time is not once.** \`run\` keeps two machines from running the command at the same time. It does not remember that the command
has run: three machines that start it from cron run it three times, one after the other; with \`--no-wait\` too, if the command is short.
For a job that must run once on one of several machines see [a job that runs once per
slot](../guide/quick-start.md#a-job-that-runs-once-per-slot).

**While it waits.** After a second \`run\` says on standard error who holds the lock: application, host, process, and for how long. It says
so again when somebody else holds it, once a minute at most in the long run. Of a quorum it says which servers do not vote yet. \`--quiet\`
turns this off.

**Where the command begins.** At the first word after the name that is no option of \`run\`, or after \`--\`. Everything from there on belongs to the
command.

**When the lock is lost.** The command runs in a process group of its own. The lease is worth the grace and a quarter of a second less
to the command than to us: when a renewal has not come through by then, the group gets SIGTERM, and after the grace SIGKILL, so that
nobody of it is left when the key can be granted again. The same happens when \`holdfast\` itself is killed or stopped: a small shell
stands by for that. Only when the lock is taken away or forgotten (by force, a deleted key, a failover that lost it) can the next owner be
quicker: the command hears of it at the next renewal, within a third of the lease. What leaves the process group (\`setsid\`) leaves this protection.

**Signals.** SIGTERM goes to the command, and starts the grace; then the lock is released. SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2
and SIGWINCH only go to the command. Ctrl-Z does not stop it: who stands still cannot renew.

**Left behind.** What the command leaves running in the background when it ends is not under the lock any more.`,
  ls: `\`HELD\` is counted from the fence. \`<5m\` means five minutes at most: the owner has no record, and may be a program that takes the lock
without raising the fence, as Java's \`RLock\` does. Programs that set the option \`application\` of \`Locks\` have a
[record](../reference/keys.md#the-record-of-a-session) and are shown by name, host and process. The value of a mutex is a secret of its
owner, so it is not shown.

Mutexes of holdfast are known by their value. With \`--all\` there are more: every string that expires and [looks
random](../reference/locks.md#lockslistoptions), because it may be a mutex of another library. It may also be a cached value.

On a terminal the table fits its width: long names and owners are cut in the middle, and columns are left out where there is no room
(fence, count, kind, waiters, in this order). In a pipe nothing is cut.`,
  watch: `A server that does not answer does not end it: the table stays, with the time at which it was true and what is wrong (in a pipe:
an event \`trouble\`), and goes on when the server is back. It ends with \`q\`, Ctrl-C or SIGTERM. Only what waiting cannot mend ends it at the
start: a wrong command line, a refused login, something that is not Redis.`,
  release: `It takes the lock from the owner that it showed, also with \`--yes\`. When that owner has ended meanwhile and another one has the
lock, nothing is released, and the exit code is 75.`,
  doctor: `Each finding is \`ok\`, \`warning\` or \`problem\`, with a sentence on why and one on what to do. For its trial it takes a lock and a mutex of its own
name under \`--prefix\`, and leaves a counter that expires within a minute.

| the worst finding | exit code | with \`--fail-on problem\` |
| --- | --- | --- |
| ok | 0 | 0 |
| warning | 1 | 0 |
| problem | 2 | 2 |`,
  dev: `It has no password: every program on this machine can use it. Like Redis, it hangs up on HTTP requests, so that a web page cannot
send commands to it.`,
  demo: `On a fresh clone: \`npm run demo\`. The shop that it runs is [examples/inventory](../../examples/inventory).`,
};

export function manualPage(): string {
  const program = buildProgram('0.0.0');
  const sections = program.commands.map((command) => describeCommand(program, command));
  return `${[INTRODUCTION, ...sections, exitCodes()].join('\n\n')}\n`;
}

function describeCommand(program: Command, command: Command): string {
  const usage = `${program.name()} ${command.name()} ${command.usage()}`;
  const rows = [
    ...command.registeredArguments.map(
      (argument) => `| \`${argument.name()}\` | ${cell(argument.description)} | |`,
    ),
    ...command.options.map(
      (option) => `| \`${option.flags}\` | ${cell(option.description)} | ${defaultOf(option)} |`,
    ),
  ];
  const table = ['| | | default |', '| --- | --- | --- |', ...rows].join('\n');
  const note = NOTES[command.name()];
  const parts = [`## \`${command.name()}\``, command.description(), `\`\`\`text\n${usage}\n\`\`\``, table];
  return [...parts, ...(note === undefined ? [] : [note])].join('\n\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\$[A-Z_]+/g, '`$&`');
}

function defaultOf({ defaultValue, defaultValueDescription, negate }: Option): string {
  if (negate || defaultValue === undefined) return '';
  return `\`${defaultValueDescription ?? String(defaultValue)}\``;
}

function exitCodes(): string {
  const names = Object.keys(EXIT) as ExitName[];
  const rows = names.map(
    (name) => `| ${name === 'signalled' ? '128 +' : EXIT[name]} | ${EXIT_MEANINGS[name]} |`,
  );
  return ['## Exit codes', '', '| code | meaning |', '| --- | --- |', ...rows].join('\n');
}
