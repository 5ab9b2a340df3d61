/** Alerts that have been, from the history in Redis. */
import type { AlertView } from '../api/types.ts';
import type { Alert } from './machine/alert.ts';
import { isRule } from './rules/table.ts';
import type { AlertStore } from './state/store.ts';
import { parseJson } from './state/stored.ts';
import { viewOf } from './views.ts';

const PAGE = 100;
/** Entries read at a time: beside ends the history has beginnings and deliveries. */
const READ = 500;
/**
 * Reads for one page. With many receivers the history has more deliveries than ends; a page has fewer ends then, so that no
 * request costs Redis more than this.
 */
const READS_MAX = 2;

export async function readPast(
  store: AlertStore,
  before: string | null,
  aheadMs: number,
): Promise<{ past: AlertView[]; next: string | null }> {
  const past: AlertView[] = [];
  let from = before;
  for (let reads = 0; reads < READS_MAX; reads += 1) {
    const entries = await store.history(from, READ);
    for (const { id, kind, entry } of entries) {
      from = id;
      const alert = kind === 'resolved' ? parseJson<Alert>(entry) : null;
      if (alert !== null && isRule(alert.rule)) past.push(viewOf(alert, aheadMs));
      if (past.length === PAGE) return { past, next: id };
    }
    if (entries.length < READ) return { past, next: null };
  }
  return { past, next: from };
}
