/** `holdfast audit`: what operators did, and why. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditEntry, AuditTrail } from 'holdfast-monitor';
import { EXIT } from '../exit-codes.ts';
import { Failure, oneLine, toFailure } from '../failure.ts';
import { openTrail } from '../locks/audit.ts';
import { printJson, printLines, printNotice } from '../output.ts';
import type { ServerFlags } from '../servers/address.ts';
import { openServers, reconnect, type Servers } from '../servers/connection.ts';
import { type Column, renderTable } from '../table.ts';

export interface AuditFlags extends ServerFlags {
  readonly lock?: string;
  /** How far back, in ms. */
  readonly since: number;
  readonly follow?: boolean;
  readonly json?: boolean;
}

const FOLLOW_EVERY_MS = 1_000;

const COLUMNS: readonly Column<AuditEntry>[] = [
  { title: 'WHEN', cell: ({ askedAt }) => new Date(askedAt).toISOString().replace(/\.\d+Z$/, 'Z') },
  { title: 'WHO', cell: ({ by, host }) => `${by} on ${host}`, least: 8 },
  { title: 'DID', cell: ({ action }) => action },
  { title: 'WHAT', cell: ({ subject }) => subject, least: 12 },
  { title: 'WHY', cell: ({ reason }) => reason, least: 12 },
  { title: 'RESULT', cell: ({ result }) => result ?? 'not known', least: 8, rank: 1 },
];

export async function audit(flags: AuditFlags): Promise<number> {
  const servers = await openServers(flags);
  try {
    const trail = await openTrail(servers);
    const from = Date.now() - flags.since;
    if (flags.follow === true) return await follow(trail, servers, from, flags);
    const entries = await read(trail, from, flags);
    if (flags.json) printJson({ entries });
    else if (entries.length > 0) printLines(renderTable(entries, COLUMNS, process.stdout.columns));
    else process.stderr.write(process.stderr.isTTY ? 'nothing was done\n' : '');
    return EXIT.ok;
  } finally {
    servers.close();
  }
}

async function read(trail: AuditTrail, from: number, { lock }: AuditFlags): Promise<AuditEntry[]> {
  const entries = await trail.since(from).catch(fail);
  return entries.filter(({ subject }) => lock === undefined || subject === lock);
}

/** The trail rejects with what the client of Redis said. */
function fail(error: unknown): never {
  const why = oneLine(error instanceof Error ? error.message : String(error));
  const exit = /NOPERM|NOAUTH/.test(why) ? 'refused' : /WRONGTYPE/.test(why) ? 'conflict' : 'unreachable';
  throw new Failure(exit, `the audit trail cannot be read: ${why}`, error);
}

/**
 * One JSON object a line, or one line of text, for each action that has ended, or was asked for two rounds ago. An outage is
 * told once, and waited out.
 */
async function follow(trail: AuditTrail, servers: Servers, from: number, flags: AuditFlags): Promise<number> {
  let trouble = '';
  const readOn = async (): Promise<AuditEntry[]> => {
    try {
      const entries = await read(trail, from, flags);
      trouble = '';
      return entries;
    } catch (error) {
      const { exitCode, message } = toFailure(error);
      if (exitCode !== EXIT.unreachable) throw error;
      if (message !== trouble) printNotice(message);
      trouble = message;
      await Promise.all(servers.clients.map(reconnect));
      return [];
    }
  };
  const told = new Set<string>();
  const left = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => left.abort());
  process.stdout.once('error', () => left.abort());
  while (!left.signal.aborted) {
    for (const entry of await readOn()) {
      if (told.has(entry.id) || (entry.result === null && Date.now() - entry.askedAt < 2 * FOLLOW_EVERY_MS))
        continue;
      told.add(entry.id);
      if (flags.json) printJson(entry);
      else printLines(renderTable([entry], COLUMNS, process.stdout.columns).slice(1));
    }
    await sleep(FOLLOW_EVERY_MS, undefined, { signal: left.signal }).catch(() => {});
  }
  return EXIT.ok;
}
