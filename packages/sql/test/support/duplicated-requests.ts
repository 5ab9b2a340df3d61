/** Four processes handle the same requests, and are killed at random: what each kind of database must make of it. */
import { join } from 'node:path';
import { type Child, startProgram } from '../../../holdfast/test/support/processes/child.ts';
import { compiledChild } from '../../../holdfast/test/support/processes/compiled-child.ts';
import type { Kind } from '../children/stores.ts';

const CHILD = join(import.meta.dirname, '../children/requests.ts');
const PROCESSES = 4;
/** `npm run test:sql -- --long` sets it. */
const isLong = process.env['HOLDFAST_SQL_LONG'] === '1';
export const REQUESTS: number = isLong ? 10_000 : 200;
const KILLS = isLong ? 40 : 4;
/** The long form takes minutes, on a busy machine many. */
export const REQUESTS_LIMIT_MS: number = isLong ? 3_600_000 : 240_000;

type Line = { readonly done?: number; readonly hasEnded?: boolean };

function startRequests(node: string, kind: Kind, place: string, seed: number): Child<Line> {
  return startProgram<Line>([
    node,
    '--no-warnings',
    compiledChild(CHILD),
    kind,
    place,
    `${REQUESTS}`,
    `${seed}`,
  ]);
}

/** Handles all requests four times, and kills `KILLS` processes on the way; a killed one starts from the beginning. */
export async function duplicateRequests(node: string, kind: Kind, place: string): Promise<void> {
  let killsLeft = KILLS;
  const handle = async (number: number): Promise<void> => {
    for (let life = 1; ; life += 1) {
      const child = startRequests(node, kind, place, number * 1_000 + life);
      const isKilled = killsLeft > 0;
      if (isKilled) {
        killsLeft -= 1;
        // Somewhere among its requests: after a few reports, and then at any instruction.
        const reports = 1 + Math.floor(Math.random() * Math.min(8, REQUESTS / 100));
        for (let report = 0; report < reports; report += 1) await child.next();
        await child.kill('SIGKILL');
        continue;
      }
      await child.next(({ hasEnded = false }) => hasEnded, REQUESTS_LIMIT_MS);
      await child.exited;
      return;
    }
  };
  await Promise.all(Array.from({ length: PROCESSES }, (_, index) => handle(index + 1)));
}
