/** Looks for a command as the shell would, before a lock is taken for it. */
import { accessSync, constants, statSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../failure.ts';
import { quote } from '../printable.ts';

export function checkExecutable(command: string): void {
  const isPath = command.includes('/');
  const folders = isPath ? [''] : (process.env['PATH'] ?? '').split(':');
  const found = folders
    .map((folder) => (isPath ? command : join(folder === '' ? '.' : folder, command)))
    .filter((file) => statSync(file, { throwIfNoEntry: false }) !== undefined);
  const shown = quote(command);
  if (found.length === 0) throw new Failure('notFound', `${shown}: there is no such command`);
  if (!found.some(isExecutable)) throw new Failure('notExecutable', `${shown}: cannot be executed`);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
