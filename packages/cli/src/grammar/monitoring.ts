/** The grammar of the monitor and of its audit trail. */
import { type Command, Option } from 'commander';
import type { AuditFlags } from '../commands/audit.ts';
import type { MonitorFlags } from '../commands/monitor.ts';
import { duration, integer, oneMore, withJson, withServers } from '../options.ts';
import { exitWith } from './exit-with.ts';

const DAY_MS = 86_400_000;

export function addMonitor(program: Command): void {
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
        'the same server by a user that may write; repeat it for a quorum; with --sentinel redis://user:password@ (default: $HOLDFAST_MONITOR_WRITER_URL)',
      ).argParser(oneMore),
    )
    .option('--budget <percent>', 'read at this share of the usual pace', integer(10, 100), 100)
    .option('--actions', 'let those who are logged in take locks away and silence alerts')
    .option('--no-audit', 'do not write down what is done from the page or by SIGHUP')
    .option('--trust-proxy', 'believe X-Forwarded-For and X-Forwarded-Proto')
    .action(async (flags: MonitorFlags) => {
      const { monitor } = await import('../commands/monitor.ts');
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
      const { audit } = await import('../commands/audit.ts');
      await exitWith(audit(flags));
    });
}
