/** The seam's contract, as rules that every client must keep. */
import type { Harness } from './harness.ts';
import { runRules } from './rules/run-rules.ts';

export function conformance(harness: Harness): void {
  runRules(harness);
}
