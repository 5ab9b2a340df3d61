/**
 * Whether anybody of a process group is left. The dead that nobody has collected yet still count for the kernel; where
 * the first process of a container collects nobody, they would count for ever. Linux tells them apart.
 */
import { readdirSync, readFileSync } from 'node:fs';

export function hasMembers(group: number): boolean {
  return answers(group) && !areAllDead(group);
}

function answers(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch (error) {
    // Somebody of the group has become another user: alive, and out of our reach.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** False where the system does not tell. */
function areAllDead(group: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return listPids().every((pid) => !isLivingMember(pid, group));
  } catch {
    return false;
  }
}

function listPids(): string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

function isLivingMember(pid: string, group: number): boolean {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // Gone since we listed it.
    return false;
  }
  // After the name, which may contain anything: state, parent, group.
  const [state, , itsGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return itsGroup === String(group) && state !== 'Z' && state !== 'X';
}
