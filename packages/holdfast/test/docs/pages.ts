/** The pages of the documentation, and the blocks of code in them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT: string = resolve(import.meta.dirname, '../../../..');

export interface Block {
  /** From the root of the repository. */
  readonly page: string;
  /** Of the first line of code, counted from 1. */
  readonly line: number;
  /** What stands after the fence: `ts`, `ts no-run`, `text`, `sql`. */
  readonly info: string;
  readonly code: string;
  /** What it prints, when a `text` block follows; `…` stands for anything within a line. */
  readonly output: string | null;
}

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

/** Every page that a reader meets. */
export function listPages(): string[] {
  const pages = ['docs', 'examples'].flatMap((folder) => listFiles(folder, '.md'));
  const names = ['holdfast', 'cli', 'monitor', 'sql', 'telemetry', 'testing'];
  const packages = names.map((name) => `packages/${name}/README.md`);
  return ['README.md', ...packages, ...pages];
}

/** The files below a folder whose names end so, from the root of the repository. */
export function listFiles(folder: string, ending: string): string[] {
  const found = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  const files = found.filter((path) => path.endsWith(ending)).sort();
  return files.map((path) => `${folder}/${path.replaceAll('\\', '/')}`);
}

/** The blocks of a page, each with the output that the page shows for it. */
export function blocksOf(page: string): Block[] {
  const blocks = fencesOf(page);
  return blocks.map((block, index) => {
    const next = blocks[index + 1];
    const isOutput = next?.info === 'text' && next.isDirectlyAfter;
    return { ...block, output: isOutput ? next.code : null };
  });
}

type Fence = Omit<Block, 'output'> & {
  /** Only blank lines between it and the block before. */
  readonly isDirectlyAfter: boolean;
};

function fencesOf(page: string): Fence[] {
  const fences: Fence[] = [];
  const lines = readPage(page).split('\n');
  let isDirectlyAfter = false;
  for (let at = 0; at < lines.length; at += 1) {
    const open = /^ *(`{3,})(.*)$/.exec(lines[at] ?? '');
    if (open === null) {
      if (lines[at]?.trim() !== '') isDirectlyAfter = false;
      continue;
    }
    const [, ticks = '', info = ''] = open;
    const end = lines.findIndex((line, index) => index > at && line.trim() === ticks);
    if (end < 0) throw new Error(`${page}, line ${at + 1}: expected the block to be closed, found no end`);
    const code = lines.slice(at + 1, end).join('\n');
    fences.push({ page, line: at + 2, info: info.trim(), code, isDirectlyAfter });
    isDirectlyAfter = true;
    at = end;
  }
  return fences;
}
