/**
 * Whether a process group has a living process. `kill(-group, 0)` also counts zombies, and in a container whose first
 * process reaps none they stay for ever. On Linux /proc tells zombies apart.
 */
import { readdirSync, readFileSync } from 'node:fs';

export function hasMembers(group: number): boolean {
  return answers(group) && !areAllDead(group);
}

function answers(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch (error) {
    // A process of the group changed its user: it is alive, and we may not signal it.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** False where the system has no /proc. */
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
    // The process has ended since /proc was listed.
    return false;
  }
  // After the name of the program, which may contain anything: state, parent, group.
  const [state, , itsGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return itsGroup === String(group) && state !== 'Z' && state !== 'X';
}
