/**
 * What a test needs of the machine beside Node and `redis-server`: another server, a tool. On a person's machine what
 * cannot be had is left out, and that is said. Where `CI` is set it is a failure: a row that is not there is not green.
 */
import { spawnSync } from 'node:child_process';
import { isCi } from '../../../../scripts/ci.mjs';

const told = new Set<string>();

/** Whether it is there. Says once what is left out without it, or throws where `CI` is set. */
export function needs(what: string, isThere: boolean, leftOut: string): boolean {
  if (!isThere && isCi())
    throw new Error(`CI is set, and ${what} is not there: without it ${leftOut} is left out`);
  return mayLack(what, isThere, leftOut);
}

/** The same for an extra beside a rule that is tested in any case: nobody must have it. */
export function mayLack(what: string, isThere: boolean, leftOut: string): boolean {
  if (!isThere && !told.has(what)) console.info(`${what} is not there: ${leftOut} is left out`);
  if (!isThere) told.add(what);
  return isThere;
}

/** Whether a program on the path runs. */
export function hasTool(name: string, ...args: string[]): boolean {
  return spawnSync(name, args, { stdio: 'ignore' }).status === 0;
}
