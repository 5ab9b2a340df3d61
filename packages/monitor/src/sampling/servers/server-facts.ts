/** What INFO says of a server: the figures of its card, and what may have taken locks away. */
import type { Disturbance } from '../locks/inference.ts';

/** All lines of INFO by name; later sections do not repeat names of earlier ones. */
export type InfoLines = ReadonlyMap<string, string>;

export function readInfo(text: string): InfoLines {
  const lines = new Map<string, string>();
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    if (colon > 0 && !line.startsWith('#')) lines.set(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return lines;
}

export function numberOf(info: InfoLines, name: string): number | null {
  const text = info.get(name);
  if (text === undefined || text === '') return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}

/** What of INFO tells that keys may have gone without their owners. */
export interface Facts {
  readonly runId: string;
  readonly role: string;
  readonly flushes: number;
  readonly evicted: number;
}

export function factsOf(info: InfoLines): Facts {
  const calls = (command: string): number =>
    Number(/calls=(\d+)/.exec(info.get(`cmdstat_${command}`) ?? '')?.[1] ?? 0);
  return {
    runId: info.get('run_id') ?? '',
    role: info.get('role') ?? '',
    flushes: calls('flushall') + calls('flushdb') + calls('swapdb'),
    evicted: numberOf(info, 'evicted_keys') ?? 0,
  };
}

/** What happened to the server from one INFO to a later one. `address`: whether the lane went to another server. */
export function disturbanceBetween(before: Facts, after: Facts, hasMoved: boolean): Disturbance | null {
  if (before.runId !== after.runId) return hasMoved ? 'failed over' : 'restarted';
  if (before.role !== after.role) return 'failed over';
  // CONFIG RESETSTAT counts from zero again: fewer is not more.
  if (after.flushes > before.flushes) return 'flushed';
  if (after.evicted > before.evicted) return 'evicted';
  return null;
}

export interface ReplicaInfo {
  readonly host: string;
  readonly port: number;
  readonly isOnline: boolean;
  readonly lagSeconds: number | null;
}

/** The replicas that a primary names: `slave0:ip=…,port=…,state=online,offset=…,lag=0`. */
export function replicasOf(info: InfoLines): ReplicaInfo[] {
  const replicas: ReplicaInfo[] = [];
  for (const [name, value] of info) {
    if (!/^slave\d+$/.test(name)) continue;
    const fields = new Map(value.split(',').map((pair) => pair.split('=', 2) as [string, string]));
    const lag = Number(fields.get('lag') ?? Number.NaN);
    replicas.push({
      host: fields.get('ip') ?? '',
      port: Number(fields.get('port') ?? 0),
      isOnline: fields.get('state') === 'online',
      lagSeconds: Number.isFinite(lag) && lag >= 0 ? lag : null,
    });
  }
  return replicas;
}
