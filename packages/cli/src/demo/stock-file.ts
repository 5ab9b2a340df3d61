/** The file in which the demo keeps its stock with `--sql`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Failure } from '../failure.ts';

export function checkSqlite(): void {
  if (isBuiltin('node:sqlite')) return;
  const version = process.versions.node;
  throw new Failure('usage', `--sql: expected a Node with SQLite, 22.13 or newer; this is ${version}`);
}

/** In a folder of its own, which is removed at the exit, also after a signal: the shops have ended by then. */
export function makeStockFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-demo-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'stock.db');
}
