/** `holdfast release`: takes a lock away from whoever holds it. */
import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { LockReader, type ReaderFlags } from '../locks/lock-reader.ts';
import { describeHeld, describeOwner, type LockView } from '../locks/lock-view.ts';
import { printable, printJson, printLines } from '../output.ts';
import { checkName } from '../servers/locks.ts';
import { requireLock } from './inspect.ts';

export interface ReleaseFlags extends ReaderFlags {
  readonly force?: boolean;
  readonly reason?: string;
  readonly yes?: boolean;
}

export async function release(name: string, flags: ReleaseFlags): Promise<number> {
  checkName(name, flags);
  const reason = checkIntent(flags);
  const reader = await LockReader.open(flags);
  try {
    const found = await reader.inspect(name);
    const view = found === null ? null : await reader.view(requireLock(found));
    if (view === null) return tellFree(name, reason, flags);
    if (flags.yes !== true && !(await confirm(view))) throw new Failure('nothing', 'nothing was released');
    const owner = await reader.locks.forceRelease(name);
    if (owner === null) return tellFree(name, reason, flags);
    // It may have changed hands since we looked; then we know who lost it, and no more.
    const isSame = view.kind === 'mutex' || view.owner === owner;
    const lost = isSame ? view : { ...view, owner, application: null, host: null, pid: null };
    tellReleased(lost, reason, flags);
    return EXIT.ok;
  } finally {
    await reader.close();
  }
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
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
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
  const hears = lost.kind === 'lock' ? ', and hears of it at its next renewal' : '';
  printLines([
    `${printable(lost.name)}: released; ${describeOwner(lost)} has lost it${hears} (${printable(reason)})`,
  ]);
}
