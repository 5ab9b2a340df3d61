/** The table of what was tried, from what a run of the matrix wrote down. */

import type { SupportRow } from '../../../../scripts/test/support.ts';

const USUAL = 'Redis 7.0';
const ON_SERVER = /^(.+) on ((?:Redis|Valkey) [\d.]+)$/;
const CLIENT_ALONE = /^(ioredis|node-redis|iovalkey|GLIDE) [\d.]+$/;

/** When, and how many rules; then clients by servers, then everything else in a list. */
export function supportSection(rows: readonly SupportRow[]): string {
  const cells = new Map<string, string>();
  const clients = new Set<string>();
  const servers = new Set([USUAL]);
  const others: string[] = [];
  for (const row of rows) {
    const [, client = row.title, server = USUAL] = ON_SERVER.exec(row.title) ?? [];
    if (!CLIENT_ALONE.test(client)) {
      others.push(`| ${row.title} | ${verdict(row)} |`);
      continue;
    }
    clients.add(client);
    servers.add(server);
    cells.set(`${client} on ${server}`, verdict(row));
  }
  const columns = [...servers];
  return [
    whenTried(rows),
    '',
    `| | ${columns.join(' | ')} |`,
    `| --- |${' --- |'.repeat(columns.length)}`,
    ...[...clients].map((client) => {
      const found = columns.map((server) => cells.get(`${client} on ${server}`) ?? 'not tried');
      return `| ${client} | ${found.join(' | ')} |`;
    }),
    '',
    `Other settings, on ${USUAL} or on the [embedded node](../concepts/testing.md):`,
    '',
    '| | |',
    '| --- | --- |',
    ...others,
  ].join('\n');
}

/** Rows that were not tried together may have been asked other rules. */
function whenTried(rows: readonly SupportRow[]): string {
  const days = rows.map(({ day }) => day).sort();
  const counts = rows.map(({ passed, failed }) => passed + failed).sort((a, b) => a - b);
  const span = (all: readonly (string | number)[]): string =>
    all[0] === all.at(-1) ? `${all[0]}` : `${all[0]} to ${all.at(-1)}`;
  return `Tried on ${span(days)}, with the ${span(counts)} rules that the suite had then. Later changes of holdfast are not in these tables.`;
}

function verdict({ passed, failed }: SupportRow): string {
  return failed === 0 ? 'all' : `${failed} of ${passed + failed} fail`;
}
