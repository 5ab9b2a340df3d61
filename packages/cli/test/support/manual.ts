/** Writes docs/operate/cli.md from the grammar, so that it cannot say anything else than `--help`. */
import type { Command, Option } from 'commander';
import { EXIT, EXIT_MEANINGS, type ExitName } from '../../src/exit-codes.ts';
import { buildProgram } from '../../src/program.ts';

const INTRODUCTION = `<!-- Written from packages/cli/src/program.ts: change that, then run \`npx vitest run packages/cli/test/manual.test.ts -u\`. -->

# The command line

\`npm install --global holdfast-cli\`, or \`npx holdfast-cli\`: what follows is the same as \`holdfast help\`.

Times are written with a unit: \`500ms\`, \`30s\`, \`5m\`. Errors are one line on standard error. Colours are for terminals, and are off
with \`NO_COLOR\`. What \`--json\` prints follows the schemas in
[packages/cli/schemas](../../packages/cli/schemas), which come with the package.

## Servers

\`--redis\` takes a URL, such as \`redis://127.0.0.1:6379/0\` or \`rediss://user:password@host:6380\`; the second \`s\` is for TLS, and
\`unix:///path/to/socket\` works too. Given several times, the servers are a quorum. Without it the variables
\`HOLDFAST_REDIS_URL\` (several with commas between them) and \`REDIS_URL\` are looked at, then \`redis://127.0.0.1:6379\`. A password that
should stay out of URLs goes to \`HOLDFAST_REDIS_PASSWORD\`, its user to \`HOLDFAST_REDIS_USERNAME\`.

With Sentinel: \`--sentinel host:26379 --sentinel-name mymaster\`, the first as often as there are sentinels. The login for the primary
is in the two variables.

With a Redis Cluster: \`--cluster\`, and \`--redis\` for one of its nodes or several; or \`HOLDFAST_REDIS_CLUSTER=1\` beside the variables above.`;

/** What deserves more words than \`--help\` has room for. */
const NOTES: Readonly<Record<string, string>> = {
  run: `\`\`\`sh
holdfast run cron:report -- ./report.sh --all
holdfast run --no-wait --on-busy-exit 0 cron:cleanup -- ./cleanup.sh
\`\`\`

**When the lock is lost.** The command runs in a process group of its own. The lease is worth the grace and a quarter of a second less
to the command than to us: when a renewal has not come through by then, the group gets SIGTERM, and after the grace SIGKILL, so that
nobody of it is left when the key can be granted again. The same happens when \`holdfast\` itself is killed or stopped: a small shell
stands by for that. Only when somebody takes the lock away by force can the next owner be quicker: the command hears of it at the next
renewal, within a third of the lease. What leaves the process group (\`setsid\`) leaves this protection.

**Signals.** SIGTERM goes to the command, and starts the grace; then the lock is released. SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2
and SIGWINCH only go to the command. Ctrl-Z does not stop it: who stands still cannot renew.

**Left behind.** What the command leaves running in the background when it ends is not under the lock any more.`,
  ls: `\`HELD\` is counted from the fence. \`<5m\` means five minutes at most: the owner has no record, and may be a program that takes the lock
without raising the fence, as Java's \`RLock\` does. Programs that set the option \`application\` of \`Locks\` have a
[record](../reference/keys.md#the-record-of-a-session) and are shown by name, host and process. The value of a mutex is a secret of its
owner, so it is not shown.

Mutexes of holdfast are known by their value. With \`--all\` there are more: every string that expires and [looks
random](../reference/locks.md#lockslist-prefix-all), because it may be a mutex of another library. It may also be a cached value.`,
  release: `It takes the lock from the owner that it showed, also with \`--yes\`. When that owner has ended meanwhile and another one has the
lock, nothing is released, and the exit code is 75.`,
  doctor: `Each finding is \`ok\`, \`warning\` or \`problem\`, with a sentence on why and one on what to do. For its trial it takes a lock and a mutex of its own
name under \`--prefix\`, and leaves a counter that expires within a minute.`,
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
