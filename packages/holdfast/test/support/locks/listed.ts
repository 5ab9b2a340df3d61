import type { Inspection, ListOptions, Locks } from '../../../src/index.ts';

/** Everything that a session lists. */
export async function listed(locks: Locks, options: ListOptions = {}): Promise<Inspection[]> {
  const found: Inspection[] = [];
  for await (const inspection of locks.list(options)) found.push(inspection);
  return found;
}

/** The names of it, sorted. */
export async function listedNames(locks: Locks, options: ListOptions = {}): Promise<string[]> {
  return (await listed(locks, options)).map(({ name }) => name).sort();
}
