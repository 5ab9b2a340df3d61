/** The seam's contract, as rules that every client must keep. */
import type { Harness } from './harness.ts';
import { callerRules } from './rules/caller-rules.ts';
import { failureRules } from './rules/failure-rules.ts';
import { listenRules } from './rules/listen-rules.ts';
import { resubscribeRules } from './rules/resubscribe-rules.ts';
import { runRules } from './rules/run-rules.ts';
import { sharedRules } from './rules/shared-rules.ts';

export function conformance(harness: Harness): void {
  const { isShared = false, database = 0, keyPrefix = '' } = harness.row;
  runRules(harness);
  // What a lost connection does to a shared one is decided by the caller's options: only the deadline is ours.
  if (isShared) sharedRules(harness);
  else callerRules(harness);
  // Channels know nothing of databases and prefixes, nor do faults.
  if (database !== 0 || keyPrefix !== '') return;
  listenRules(harness);
  resubscribeRules(harness);
  if (!isShared) failureRules(harness);
}
