/** The options that several commands share, and how the words on the command line are read. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { formatDuration, parseDurationMs, TIMER_MS_MAX } from './duration.ts';

export function duration(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== null && ms > 0) return ms;
  throw new InvalidArgumentError(`Expected a time such as 500ms, 30s or 5m, got ${JSON.stringify(text)}.`);
}

/** For a time that is waited for in one piece. */
export function timerDuration(text: string): number {
  const ms = duration(text);
  if (ms <= TIMER_MS_MAX) return ms;
  throw new InvalidArgumentError(
    `Expected at most ${formatDuration(TIMER_MS_MAX)}, got ${JSON.stringify(text)}.`,
  );
}

export function integer(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(
      `Expected a whole number from ${least} to ${most}, got ${JSON.stringify(text)}.`,
    );
  };
}

/** For an option that may be repeated. */
export function oneMore(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value];
}

/** Where the servers are. */
export function withServers(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--redis <url>',
        'a server; repeat it for a quorum (default: $HOLDFAST_REDIS_URL, $REDIS_URL, redis://127.0.0.1:6379)',
      ).argParser(oneMore),
    )
    .addOption(
      new Option('--sentinel <host:port>', 'a sentinel that knows the primary; repeat it for more').argParser(
        oneMore,
      ),
    )
    .option('--sentinel-name <name>', 'the name of the primary among the sentinels')
    .option(
      '--cluster',
      'the servers are nodes of a Redis Cluster; one is enough (default: $HOLDFAST_REDIS_CLUSTER)',
    )
    .option('--ca <file>', 'trust the authorities in this file (PEM), for rediss://')
    .option('--cert <file>', 'show this certificate to the server (PEM), with --key')
    .option('--key <file>', 'the private key of --cert (PEM)')
    .option('--insecure', 'do not check the certificate of the server')
    .option('--prefix <text>', 'put before every name to make its key');
}

export function withJson(command: Command): Command {
  return command.option('--json', 'answer in JSON');
}
