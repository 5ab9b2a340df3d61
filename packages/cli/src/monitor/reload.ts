/** SIGHUP reads the configuration of the monitor again. Like every action it is in the audit trail before it is done. */
import type { AuditTrail, SettingsHolder } from 'holdfast-monitor';
import { printNotice } from '../output.ts';

export interface ReloadTerms {
  readonly config: string;
  readonly settings: SettingsHolder;
  /** Null with `--no-audit`. */
  readonly trail: Pick<AuditTrail, 'ask' | 'done'> | null;
}

/** Never rejects: what fails is said on standard error. */
export async function reload({ config, settings, trail }: ReloadTerms): Promise<void> {
  const action = {
    action: 'reload',
    subject: config,
    by: 'signal',
    via: 'signal',
    reason: 'SIGHUP',
  } as const;
  let id: string | undefined;
  try {
    id = await trail?.ask(action);
  } catch (error) {
    printNotice(`${config}: not read, the old one stays: ${wordsOf(error)}`);
    return;
  }
  const isTaken = settings.reload(config);
  printNotice(isTaken ? `${config}: in force` : `${config}: refused, the old one stays: ${settings.refusal}`);
  if (id === undefined) return;
  await trail
    ?.done(id, isTaken ? 'in force' : `refused: ${settings.refusal}`)
    .catch((error: unknown) => printNotice(`how the reload ended is not in the trail: ${wordsOf(error)}`));
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
