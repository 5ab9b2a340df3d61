import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compile } from './compile.ts';
import { describeComplaint } from './complaint.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LUA = join(ROOT, 'packages/holdfast/lua');
const GENERATED = join(ROOT, 'packages/holdfast/src/scripts/generated.ts');

function readLuaFiles(): Map<string, string> {
  const paths = readdirSync(LUA, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.lua'),
  );
  const sorted = paths.map((path) => path.replaceAll('\\', '/')).sort();
  return new Map(sorted.map((path) => [path, readFileSync(join(LUA, path), 'utf8')]));
}

function readGenerated(): string {
  try {
    return readFileSync(GENERATED, 'utf8');
  } catch {
    return '';
  }
}

function format(module: string): string {
  const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');
  const args = [biome, 'format', `--stdin-file-path=${GENERATED}`];
  const run = spawnSync(process.execPath, args, { cwd: ROOT, input: module, encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`biome could not format the generated module: ${run.stderr}`);
  return run.stdout;
}

const { module, complaints } = compile(readLuaFiles());
for (const complaint of complaints) console.error(`lua/${describeComplaint(complaint)}`);
if (complaints.length > 0) {
  process.exitCode = 1;
} else {
  const formatted = format(module);
  const isCurrent = readGenerated() === formatted;
  if (isCurrent) {
    console.log('src/scripts/generated.ts agrees with lua/');
  } else if (process.argv.includes('--check')) {
    console.error('src/scripts/generated.ts differs from lua/: run `npm run lua`');
    process.exitCode = 1;
  } else {
    writeFileSync(GENERATED, formatted);
    console.log('src/scripts/generated.ts is written anew');
  }
}
