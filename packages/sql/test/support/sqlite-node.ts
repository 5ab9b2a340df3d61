/** A Node that has `node:sqlite`: this one, or one that `npm run runtimes` has fetched. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { needs } from '../../../holdfast/test/support/needs.ts';

const ROOT = resolve(import.meta.dirname, '../../../..');
const RUNTIMES = process.env['HOLDFAST_RUNTIMES'] ?? join(ROOT, '.cache/runtimes');
/** 22.5 has the module behind a flag; 22.13 without. */
const MAJOR_MIN = 22;

const majorOf = (version: string): number => Number(version.split('.')[0]);

/** Its command, or null with a word. Where `CI` is set, a missing one is a failure. */
export function sqliteNode(): string | null {
  if (majorOf(process.versions.node) >= MAJOR_MIN) return process.execPath;
  const folders = existsSync(RUNTIMES) ? readdirSync(RUNTIMES) : [];
  const fit = folders.filter((name) => /^node-\d/.test(name) && majorOf(name.slice(5)) >= MAJOR_MIN).sort();
  const told = fit.map((name) => join(RUNTIMES, name, 'runtime.json')).find((file) => existsSync(file));
  needs('a Node with node:sqlite (npm run runtimes)', told !== undefined, 'what holdfast-sql does on SQLite');
  if (told === undefined) return null;
  const { command } = JSON.parse(readFileSync(told, 'utf8')) as { command: string[] };
  return command[0] ?? null;
}
