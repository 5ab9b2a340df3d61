/** `holdfast inspect`: one lock, with all that is known of it. */
import type { Inspection } from 'holdfast';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { LockReader, type ReaderFlags } from '../locks/lock-reader.ts';
import {
  describeHeld,
  describeLeft,
  describeOwner,
  type HeldInspection,
  type LockView,
} from '../locks/lock-view.ts';
import { type Line, printJson, printLines, styled } from '../output.ts';
import { quote } from '../printable.ts';
import { checkName } from '../servers/locks.ts';

export async function inspect(name: string, flags: ReaderFlags): Promise<number> {
  checkName(name, flags);
  const reader = await LockReader.open(flags);
  try {
    const found = await reader.inspect(name);
    const view = found === null ? null : await reader.view(requireLock(found));
    if (flags.json) printJson({ name, lock: view });
    else printLines(view === null ? [`${name}: nobody holds it`] : describe(view));
    return view === null ? EXIT.nothing : EXIT.ok;
  } finally {
    await reader.close();
  }
}

/** Something else under that name is neither held nor free. */
export function requireLock(found: Inspection): HeldInspection {
  if (found.kind !== 'other') return found;
  throw new Failure('conflict', `${quote(found.name)}: the key holds something else (a ${found.found})`);
}

function describe(view: LockView): Line[] {
  const facts: readonly (readonly [string, string | number | null])[] = [
    ['kind', view.kind],
    ['owner', view.application === null ? null : describeOwner(view)],
    ['holder', view.owner],
    ['held for', view.heldForMs === null ? null : describeHeld(view).replace('<', 'less than ')],
    ['left', describeLeft(view)],
    ['count', view.holdCount],
    ['fence', view.fence],
    ['waiters', view.waiters],
  ];
  const known = facts.filter(([, value]) => value !== null);
  return [
    [styled('bold', view.name)],
    ...known.map(([title, value]) => ['  ', styled('dim', title.padEnd(9)), String(value)]),
  ];
}
