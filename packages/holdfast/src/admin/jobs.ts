/** Iterates over the jobs that have a marker. */
import type { ScriptCall } from '../clients/client.ts';
import { LockConfigError } from '../errors.ts';
import { jobKey, jobLockKey, originOfJob } from '../keys/derived.ts';
import { NAME_BYTES_MAX } from '../keys/name.ts';
import { checkKnown, checkObject, ofType } from '../options/checks.ts';
import { type JobInfo, jobInfo } from '../primitives/schedule/index.ts';
import { describe } from '../runtime/describe.ts';
import { adminScanJobs, jobRead } from '../scripts/generated.ts';
import type { AdminServers } from './servers.ts';

export interface JobsOptions {
  /** Only names that begin with this. @default '' */
  readonly prefix?: string;
  /**
   * Waited for after each call to a server: slows down the walk over the keys, for who looks at busy servers again and
   * again. @default no pause
   */
  readonly pace?: () => Promise<unknown>;
}

/** Keys that one SCAN looks at. */
const SCAN_COUNT = 500;

/** What the server knows of one job; null when it has no marker. */
async function readJob(servers: AdminServers, name: string): Promise<JobInfo | null> {
  const key = servers.keyPrefix + name;
  const call: ScriptCall = jobRead.call({ job: jobKey(key), lock: jobLockKey(key) });
  const [answer] = await servers.ask(servers.deciding, () => call, jobRead.decode, name);
  return answer === undefined ? null : jobInfo(name, answer.value);
}

const JOBS_OPTIONS = new Set(['prefix', 'pace']);

export async function* jobs(
  servers: AdminServers,
  options: JobsOptions,
): AsyncGenerator<JobInfo, void, undefined> {
  checkObject(options, 'the options of jobs');
  checkKnown(options, JOBS_OPTIONS, 'an option of jobs');
  const prefix = ofType(options.prefix ?? '', 'prefix', 'string');
  const { pace = async () => {} } = options;
  if (typeof pace !== 'function') {
    throw new LockConfigError(`expected pace to be a function, got ${describe(pace)}`);
  }
  const { keyPrefix } = servers;
  // With the braces that are added to a name, or without those of a name that brings its own.
  const terms = { pattern: 'holdfast_job:*', count: SCAN_COUNT };
  const seen = new Set<string>();
  const scanned = await servers.all();
  for (let index = 0; index < scanned.size; index += 1) {
    for (let cursor: string | null = '0'; cursor !== null; ) {
      const at: string = cursor;
      const callFor = (asked: number): ScriptCall | null =>
        asked === index ? adminScanJobs.call({ cursor: at, ...terms }) : null;
      const [page] = await servers.ask({ ...scanned, needed: 1 }, callFor, adminScanJobs.decode, prefix);
      await pace();
      for (const key of page?.value.keys ?? []) {
        const name = nameOf(key, keyPrefix);
        if (name === null || !name.startsWith(prefix) || seen.has(name)) continue;
        seen.add(name);
        const found = await readJob(servers, name);
        await pace();
        if (found !== null) yield found;
      }
      const next: string = page?.value.cursor ?? '0';
      cursor = next === '0' ? null : next;
    }
  }
}

/** Null for what is no job of these servers and this prefix. */
function nameOf(key: string, keyPrefix: string): string | null {
  const ofName = originOfJob(key);
  if (!ofName?.startsWith(keyPrefix)) return null;
  const name = ofName.slice(keyPrefix.length);
  return name === '' || Buffer.byteLength(name) > NAME_BYTES_MAX ? null : name;
}
