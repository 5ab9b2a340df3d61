/** The processes of the demo end with it, also when it is killed: whoever closes the terminal leaves no shop behind. */
import type { ChildProcess } from 'node:child_process';
import { Guard } from '../run/guard.ts';

const GRACE_MS = 1_000;

/** For a child in a process group of its own. */
export function guardChild(child: ChildProcess): void {
  if (child.pid === undefined) return;
  const guard = new Guard(GRACE_MS);
  guard.watch(child.pid);
  child.once('exit', () => guard.dismiss());
}
