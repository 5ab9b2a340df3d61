/** What open alerts remember for the rules that need more than the figures of now. */

/** An alert as the state has it: perhaps of another monitor, or of this one before it restarted. */
export interface OpenAlert {
  readonly rule: string;
  readonly subject: string;
  readonly state: 'pending' | 'firing' | 'resolved';
  readonly evidence: string | null;
}

/** By subject, the evidence of the alerts of one rule that have not ended. */
export function openEvidence(
  rule: string,
  alerts: readonly OpenAlert[],
): ReadonlyMap<string, OpenAlert['evidence']> {
  const found = new Map<string, OpenAlert['evidence']>();
  for (const alert of alerts) {
    if (alert.rule === rule && alert.state !== 'resolved') found.set(alert.subject, alert.evidence);
  }
  return found;
}
