/** Finds links between pages that lead nowhere. */
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { listPages, ROOT, readPage } from './pages.ts';

/** Code is not prose: what looks like a link in it is none. */
function proseOf(page: string): string {
  return readPage(page)
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, ''));
}

/** As GitHub makes it from a heading. A space before a sign that is left out at the end stays, as a dash. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .trim()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function anchorsOf(page: string): string[] {
  return [...readPage(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
}

/** The package gets a copy of the pages, which its README is read beside. */
function inRepository(file: string): string {
  return file.replace(/^packages\/holdfast\/docs\//, 'docs/');
}

export function listBrokenLinks(): string[] {
  return listPages().flatMap((page) =>
    [...proseOf(page).matchAll(/\]\(([^)]+)\)/g)].flatMap(([, target = '']) => {
      if (/^https?:/.test(target)) return [];
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : inRepository(normalize(join(dirname(page), path)));
      if (!existsSync(join(ROOT, file))) return [`${page}: ${target} does not exist`];
      if (anchor === undefined || anchorsOf(file).includes(anchor)) return [];
      return [`${page}: ${target} has no such heading`];
    }),
  );
}
