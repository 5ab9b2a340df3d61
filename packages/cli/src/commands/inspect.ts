/** `holdfast inspect`: one lock, with all that is known of it. */
import type { Inspection } from 'holdfast';
import { formatDuration } from '../duration.ts';
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { describeLine, viewLine } from '../locks/line-view.ts';
import { LockReader, type ReaderFlags } from '../locks/lock-reader.ts';
import {
  describeHeld,
  describeLeft,
  describeOwner,
  type FreeInspection,
  type HeldInspection,
  isHeld,
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
    if (found === null || found.kind === 'free') return tellFree(name, found, flags);
    const view = await reader.view(requireLock(found));
    if (flags.json) printJson({ name, lock: view, free: null });
    else printLines(describe(view));
    return EXIT.ok;
  } finally {
    await reader.close();
  }
}

/** Shows a lock that nobody holds. Somebody may wait for it all the same. */
function tellFree(name: string, found: FreeInspection | null, { json }: ReaderFlags): number {
  if (json) {
    const free = found === null ? null : { openMs: found.openMs, ...viewLine(found) };
    printJson({ name, lock: null, free });
  } else {
    printLines(found === null ? [`${name}: nobody holds it`] : describeFree(found));
  }
  return EXIT.nothing;
}

function describeFree(found: FreeInspection): Line[] {
  const view = viewLine(found);
  const guests =
    found.openMs === 0 ? '' : `, left to other libraries for ${formatDuration(found.openMs)} more`;
  const title: Line = [styled('bold', found.name), `: nobody holds it${guests}`];
  return [title, ...describeLine(view, '  line     ')];
}

/** Something else under that name is neither held nor free. */
export function requireLock(found: Exclude<Inspection, FreeInspection>): HeldInspection {
  if (isHeld(found)) return found;
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
    ['linger', view.mayLinger ? 'its process may be keeping it unused' : null],
    ['waiters', view.waiters],
    ['guests', view.guests === 0 ? null : view.guests],
  ];
  const known = facts.filter(([, value]) => value !== null);
  return [
    [styled('bold', view.name)],
    ...known.map(([title, value]) => ['  ', styled('dim', title.padEnd(9)), String(value)]),
    ...describeLine(view, '  line     '),
  ];
}
