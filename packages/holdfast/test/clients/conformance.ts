/** The seam's contract, as rules that every client must keep. */
import type { Harness } from './harness.ts';
import { callerRules } from './rules/caller-rules.ts';
import { failureRules } from './rules/failure-rules.ts';
import { listenRules } from './rules/listen-rules.ts';
import { resubscribeRules } from './rules/resubscribe-rules.ts';
import { runRules } from './rules/run-rules.ts';

export function conformance(harness: Harness): void {
  const { database = 0, keyPrefix = '' } = harness.row;
  runRules(harness);
  callerRules(harness);
  // Channels know nothing of databases and prefixes, nor do faults.
  if (database !== 0 || keyPrefix !== '') return;
  listenRules(harness);
  resubscribeRules(harness);
  failureRules(harness);
}
