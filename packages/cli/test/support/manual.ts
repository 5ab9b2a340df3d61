/** Writes docs/operate/cli.md from the grammar, so that it cannot say anything else than `--help`. */
import type { Command, Option } from 'commander';
import { EXIT, EXIT_MEANINGS, type ExitName } from '../../src/exit-codes.ts';
import { buildProgram } from '../../src/program.ts';

const INTRODUCTION = `<!-- Written from packages/cli/src/program.ts: change that, then run \`npx vitest run packages/cli/test/manual.test.ts -u\`. -->

# The command line

\`npm install --global holdfast-cli\`, or \`npx holdfast-cli\`. The tables on this page are the same as \`holdfast help\`.

Times are written with a unit: \`500ms\`, \`30s\`, \`5m\`. Options may stand before or after the name of a lock. Errors and warnings are
one line each on standard error. Colours are used on terminals only, and never with \`NO_COLOR\`. What \`--json\` prints follows the schemas in
[packages/cli/schemas](../../packages/cli/schemas), which come with the package.

**Text from Redis.** Anybody who can write to Redis chooses names and owners. Control characters, line ends, bidirectional and
invisible characters in them are shown as escapes such as \`\\u{1b}\`, in errors too. \`--json\` escapes the same characters as JSON does,
so that a program reads the text as it is.

## Servers

\`--redis\` takes a URL, such as \`redis://127.0.0.1:6379/0\` or \`rediss://user:password@host:6380\`. The second \`s\` stands for TLS;
\`unix:///path/to/socket\` works too. Several \`--redis\` are a quorum. Without \`--redis\`, the variable \`HOLDFAST_REDIS_URL\` is read (several
URLs are separated by commas), then \`REDIS_URL\`. The default is \`redis://127.0.0.1:6379\`.

**Logins.** Everything between \`://\` and the last \`@\` is the login, so a password may contain \`/\`, \`@\` and \`,\` as they are. Only a \`%\`
must be written as \`%25\`. To keep a password out of the URL, put it into \`HOLDFAST_REDIS_PASSWORD\`, and its user into the URL
(\`redis://user@host\`) or into \`HOLDFAST_REDIS_USERNAME\`. A user without a password logs in with an empty one. No error, warning or JSON
contains a login. A password on the command line is removed from the list of processes (\`ps\`) at the start. It stays in the history of
your shell, and under \`npx\` the processes of npm show it for as long as they run. \`DEBUG\` is ignored, because it would make the
Redis client print passwords; the command of \`run\` gets that variable as it is.

**TLS.** \`--ca\` names the authorities to trust instead of those that Node knows. \`--cert\` and \`--key\` are for servers that ask for a
certificate. \`--insecure\` checks no certificate, and prints a warning: use it for a trial only. These four options are refused when no
server is \`rediss://\`.

**Sentinel.** \`--sentinel host:26379 --sentinel-name mymaster\`; repeat \`--sentinel\` for each sentinel. The login for the primary is in
\`HOLDFAST_REDIS_USERNAME\` and \`HOLDFAST_REDIS_PASSWORD\`. A login for the sentinels is part of their URL:
\`--sentinel redis://user:password@host:26379\`. TLS to sentinels is not supported by the command line, and refused.

**Redis Cluster.** \`--cluster\`, and \`--redis\` for one or several of its nodes; or \`HOLDFAST_REDIS_CLUSTER=1\` beside the variables above.`;

/** What deserves more words than \`--help\` has room for. */
const NOTES: Readonly<Record<string, string>> = {
  run: `\`\`\`sh
holdfast run migrate -- ./migrate.sh --all
holdfast run --no-wait --on-busy-exit 0 backup -- ./backup.sh
\`\`\`

**Once, and not only one at a time.** Without \`--once-per\`, \`run\` keeps two machines from running the command at the same time, and
does not remember that it has run: three machines that start it from cron run it three times, one after the other. With \`--once-per\` a slot
is run once, on one of all machines with the same line:

\`\`\`sh
# In the crontab of every machine. Cron starts it everywhere, and one machine runs it.
30 2 * * *  holdfast run --once-per '30 2 * * *' nightly-report -- /opt/report.sh
\`\`\`

The slot is the newest time of the schedule that has come, by the clock of the Redis server. Whoever asks first runs it. The others print one
line on standard error, which names the machine that ran it, and exit with 0. A machine whose clock is ahead is started before the slot: if
the next slot is nearer than \`--early\`, it waits for that slot. \`--attempts\` above 1 lets the others wait for the end, and take over when the
command fails or its machine dies. \`--late\` limits how late a slot may start. The command finds \`HOLDFAST_SLOT\` and \`HOLDFAST_ATTEMPT\` in
its environment. \`--once-per\` is refused on a quorum, with 64. See [schedules](../guide/schedule.md) for what is promised.

**While it waits.** After a second \`run\` prints on standard error who holds the lock: application, host, process, and for how long. It
prints a new line when the holder changes, in a long wait at most one a minute. In a quorum it also names servers that do not vote
yet. \`--quiet\` turns this off.

**Where the command begins.** At the first word after the name that is no option of \`run\`, or after \`--\`. Everything from there on belongs to the
command.

**When the lock is lost.** We stop the command if the lease isn't renewed by expiry minus grace minus 250 ms: its whole process group gets SIGTERM,
and after the grace SIGKILL. So no process of the group is left when the lock expires and somebody else can get it. With the defaults (a
lease of 30 s, a grace of 5 s) the group gets SIGTERM about 24.4 s after the last renewal, and SIGKILL 5 s later. The same happens when
\`holdfast\` itself is killed or stopped (SIGKILL, SIGSTOP): a small guard process sees to it.

There is one exception. When the lock is taken away or forgotten before it expires (\`release --force\`, a deleted key, a failover that lost it),
somebody else can get it at once. The command is stopped at the next renewal at the latest, within a third of the lease. Processes that leave
the process group (\`setsid\`) are never stopped.

**Signals.** SIGTERM goes to the command and starts the grace; the lock is released when the process group has ended. SIGINT, SIGHUP, SIGQUIT,
SIGUSR1, SIGUSR2, SIGWINCH and SIGCONT are passed to the command. Ctrl-Z (SIGTSTP) is passed to the command too, and does not stop
\`holdfast\`, because a stopped process cannot renew.

**Left behind.** Processes that the command leaves in the background when it exits are no longer under the lock.`,
  job: `\`\`\`sh
holdfast job run nightly-report -- /opt/report.sh
\`\`\`

A job that a program schedules has its body in that program. From the command line the body is the command after \`--\`: it runs under the same
lock, so it never runs beside a scheduled run, and it is written into the same marker, so \`ls --jobs\` shows it as the last run. It counts as a
slot of its own, at this moment. A scheduled slot that is due and was not started is not started after it, and one in \`retry\` gets no further
attempt; slots that come later are not affected. The command gets the same environment as with \`run --once-per\`. A quorum is refused, as there.`,
  ls: `\`HELD\` is counted from the fence. \`<5m\` means at most five minutes: the owner has no record, so it may be a program that takes the lock
without raising the fence, as Java's \`RLock\` does. Programs that use holdfast have a
[record](../reference/keys.md#the-record-of-a-session) and are shown by application, host and process, unless they set \`application: false\`. The value of a mutex is a secret of its
owner, so it is not shown.

Mutexes of holdfast are recognised by their value. \`--all\` also lists every string that expires and [looks
random](../reference/locks.md#lockslistoptions), because it may be a mutex of another library. It may also be a cached value.

\`WAITERS\` counts the processes in the line. \`3+1\` means that one more connection listens without a place in it: a waiter of another
library, such as Redisson. (While such a library owns the lock, the first two in line listen too.) \`NEXT\` is who comes first, and for how long
that process has waited. \`does not listen\` means that it would not hear of its turn, so it is passed over. In a quorum there is no line, and
\`WAITERS\` counts the processes that listen.

On a terminal the table fits the width: long names and owners are cut in the middle, and columns are left out where there is no room
(next, fence, count, kind, waiters, in this order). In a pipe nothing is cut.

\`--jobs\` lists jobs instead: the last slot, how it ended (\`done\`, \`failed\`, \`running\`, \`retry\`, \`dead\`, \`missed\`, \`baseline\`; see
[states](../guide/schedule.md#states)), how long it took, on which machine, and the next slot. \`failed (2)\` was the second attempt.`,
  inspect: `Below the lock stand those who wait in the line, the first 100 of them: application, host and process (or the session, where a program
does not say), and for how long. A waiting process is recorded as an owner is, also one that waits for a mutex.

\`linger\` stands there when the owner's process may be keeping the lock although nobody there uses it
([\`lingerMs\`](../concepts/waiting-and-hand-over.md#keeping-a-lock-that-nobody-wants)). Redis cannot know more.

A lock that nobody holds may have a line all the same, for a moment: after a \`DEL\` by hand, while nobody in line listens, or while it is left
to waiters of other libraries, which have no place in the line. \`inspect\` then prints the line and exits with 1.`,
  audit: `With \`--follow\`, an outage is reported once on standard error, and waited out.`,
  watch: `\`watch\` goes on when a server does not answer: the table stays, with the time at which it was read and what is wrong (in a pipe: a
\`trouble\` event), and is updated again when the server is back. \`q\`, Ctrl-C or SIGTERM ends it. At the start it exits with an error
where waiting would not help: a wrong command line, a refused login, something that is not Redis.`,
  release: `The lock is taken from the owner that was shown, also with \`--yes\`. If that owner has released it meanwhile and somebody else holds the
lock, nothing is released, and the exit code is 75.

The next process in line is the owner in the same step. The owner that lost the lock is notified by a message with the
reason, if it listens: if its process has waited for a lock before. Otherwise it is notified at its next renewal, with the reason too. The
owner of a mutex is always notified at its next renewal, because a mutex does not say whose it is.`,
  doctor: `Each finding is \`ok\`, \`warning\` or \`problem\`, with a sentence on why and one on what to do. To test the rights it takes, hands over and releases
a lock and a mutex with a name of its own under \`--prefix\`. The fence counter of that lock expires within a minute.

| the worst finding | exit code | with \`--fail-on problem\` |
| --- | --- | --- |
| ok | 0 | 0 |
| warning | 1 | 0 |
| problem | 2 | 2 |`,
  dev: `It has no password: every program on this machine can use it. Like Redis, it closes the connection on HTTP requests, so that a
web page cannot send commands to it.`,
  demo: `On a fresh clone: \`npm run demo\`. The shop that it runs is
[examples/inventory](../../examples/inventory). With \`--redis\` it removes its keys at the end; the record of the shop that it kills expires within a
minute. With \`--watch\` the [monitor](monitoring.md) shows the sale while it runs: who of the shops holds the lock, who waits, and how the hold of
the shop that was killed ended.`,
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
