/** `holdfast release`: takes a lock away from the owner that it shows. */
import { constants, userInfo } from 'node:os';
import { createInterface } from 'node:readline';
import type { LockNotHeldError } from 'holdfast';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { openTrail } from '../locks/audit.ts';
import { LockReader, type ReaderFlags } from '../locks/lock-reader.ts';
import {
  describeHeld,
  describeOwner,
  type HeldInspection,
  isHeld,
  type LockView,
} from '../locks/lock-view.ts';
import { printJson, printLines, printNotice } from '../output.ts';
import { printable } from '../printable.ts';
import { checkName } from '../servers/locks.ts';
import { requireLock } from './inspect.ts';

/** What fits into a message to the owner. */
const REASON_LENGTH_MAX = 500;

export interface ReleaseFlags extends ReaderFlags {
  readonly force?: boolean;
  readonly reason?: string;
  readonly yes?: boolean;
  /** False with --no-audit. */
  readonly audit: boolean;
}

export async function release(name: string, flags: ReleaseFlags): Promise<number> {
  checkName(name, flags);
  const reason = checkIntent(flags);
  const reader = await LockReader.open(flags);
  try {
    const found = await reader.inspect(name);
    if (found === null || found.kind === 'free') return tellFree(name, reason, flags);
    const shown = requireLock(found);
    const view = await reader.view(shown);
    if (flags.yes !== true && !(await confirm(view))) throw new Failure('nothing', 'nothing was released');
    const isTaken = await audited(reader, name, shown, reason, flags);
    if (!isTaken) return tellFree(name, reason, flags);
    tellReleased(view, reason, flags);
    return EXIT.ok;
  } finally {
    await reader.close();
  }
}

/** In the audit trail before it is done, and how it ended after that. */
async function audited(
  reader: LockReader,
  name: string,
  shown: HeldInspection,
  reason: string,
  flags: ReleaseFlags,
): Promise<boolean> {
  if (!flags.audit) {
    printNotice('warning: --no-audit: this release is written down nowhere');
    return takeFrom(reader, name, shown, reason);
  }
  const trail = await openTrail(reader.servers);
  const id = await trail
    .ask({
      action: 'release',
      subject: shown.name,
      holder: shown.owner,
      fence: shown.kind === 'lock' ? (shown.fence ?? null) : null,
      by: userInfo().username,
      via: 'cli',
      reason,
    })
    .catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      const exit = /NOPERM|NOAUTH/.test(why) ? 'refused' : 'unreachable';
      throw new Failure(exit, `nothing was released: ${why}; see --no-audit`, error);
    });
  try {
    const isTaken = await takeFrom(reader, name, shown, reason);
    await trail.done(id, isTaken ? `released from ${shown.owner}` : 'nobody held it').catch(warnOfTrail);
    return isTaken;
  } catch (error) {
    await trail
      .done(id, `not done: ${error instanceof Error ? error.message : String(error)}`)
      .catch(warnOfTrail);
    throw error;
  }
}

function warnOfTrail(error: unknown): void {
  printNotice(
    `warning: the end is not in the audit trail: ${error instanceof Error ? error.message : String(error)}`,
  );
}

/** From the owner that was shown and from nobody else. False when nobody holds it any more. */
async function takeFrom(
  reader: LockReader,
  name: string,
  shown: HeldInspection,
  reason: string,
): Promise<boolean> {
  // By the name as it was given: what is shown of the lock of a once key is that key.
  const { owner } = shown;
  try {
    return (
      (await reader.locks.forceRelease(name, { owner, reason: reason.slice(0, REASON_LENGTH_MAX) })) !== null
    );
  } catch (error) {
    const next = otherOwner(error);
    if (next === null) throw error;
    const who = await describeNext(reader, name, shown, next);
    throw new Failure(
      'busy',
      `${printable(name)}: ${printable(who)} holds it by now; nothing was released`,
      error,
    );
  }
}

/** Who holds it now, in words. */
async function describeNext(
  reader: LockReader,
  name: string,
  { kind }: HeldInspection,
  owner: string,
): Promise<string> {
  // The owner of a mutex is a digest, which says nothing to a person.
  if (kind === 'mutex') return 'somebody else';
  const found = await reader.inspect(name).catch(() => null);
  return found !== null && isHeld(found) && found.owner === owner
    ? describeOwner(await reader.view(found))
    : owner;
}

/** Who has it, when the library would not take it from another owner than the one that was shown. */
function otherOwner(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'ELOCKNOTHELD') return null;
  return (error as LockNotHeldError).holder?.owner ?? null;
}

function checkIntent({ force, reason, yes }: ReleaseFlags): string {
  if (force !== true) {
    throw new Failure(
      'usage',
      'expected --force: a release from outside takes the lock from an owner that is at work',
    );
  }
  if (reason === undefined || reason.trim() === '') {
    throw new Failure('usage', 'expected --reason with a few words on why, got none');
  }
  if (yes !== true && process.stdin.isTTY !== true) {
    throw new Failure('usage', 'expected --yes where nobody can be asked, got none');
  }
  return reason;
}

async function confirm(view: LockView): Promise<boolean> {
  const held = view.heldForMs === null ? '' : ` (held for ${describeHeld(view).replace('<', 'less than ')})`;
  const question = `${printable(view.name)} is held by ${describeOwner(view)}${held}. Take it away? [y/N] `;
  return /^y(es)?$/i.test((await answerTo(question)).trim());
}

/** Empty after Ctrl-D; fails after Ctrl-C. */
function answerTo(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    const interrupt = (): void => {
      reject(new Failure(EXIT.signalled + constants.signals.SIGINT, 'nothing was released'));
      terminal.close();
    };
    // From the keyboard, and from elsewhere.
    terminal.once('SIGINT', interrupt);
    process.once('SIGINT', interrupt);
    terminal.once('close', () => {
      process.off('SIGINT', interrupt);
      // What is told next begins a line.
      if (!isAnswered) process.stderr.write('\n');
      resolve('');
    });
    terminal.question(question, (answer) => {
      isAnswered = true;
      resolve(answer);
      terminal.close();
    });
  });
}

function tellFree(name: string, reason: string, { json }: ReleaseFlags): number {
  if (json) printJson({ name, isReleased: false, lost: null, reason, by: userInfo().username });
  else printLines([`${printable(name)}: nobody holds it`]);
  return EXIT.nothing;
}

function tellReleased(lost: LockView, reason: string, { json }: ReleaseFlags): void {
  if (json) {
    printJson({ name: lost.name, isReleased: true, lost, reason, by: userInfo().username });
    return;
  }
  const hears = lost.kind !== 'mutex' ? ', and hears of it by its next renewal' : '';
  printLines([
    `${printable(lost.name)}: released; ${describeOwner(lost)} has lost it${hears} (${printable(reason)})`,
  ]);
}
