/**
 * Walks in a page. A block between `<!-- walk: acquire -->` and `<!-- /walk -->` lists the files of that request in the
 * order in which the request first enters them.
 */
import { dirname, posix } from 'node:path';
import type { Walk } from './walk.ts';

const BLOCK = /(<!-- walk: ([\w-]+) -->\n)([\s\S]*?)(<!-- \/walk -->)/g;

/** The requests that the page has blocks for. */
export function requestsOf(page: string): string[] {
  return [...page.matchAll(BLOCK)].map(([, , request = '']) => request);
}

/** `path` is the page's own, relative to the root: links are relative to the page. */
export function withWalks(page: string, path: string, walks: readonly Walk[]): string {
  return page.replaceAll(BLOCK, (block, begin: string, request: string, _: string, end: string) => {
    const walk = walks.find((each) => each.request === request);
    return walk === undefined ? block : `${begin}${listText(walk, path)}${end}`;
  });
}

function listText({ files }: Walk, path: string): string {
  const folder = dirname(path).replaceAll('\\', '/');
  const lines = files.map(({ file }, i) => {
    const short = file.replace(/^packages\/holdfast\/src\//, '').replace(/^packages\/([^/]+)\/src\//, '$1: ');
    return `${i + 1}. [${short}](${posix.relative(folder, file)})\n`;
  });
  return `\n${lines.join('')}\n`;
}

/**
 * How the walk differs from its block, in words. Counts of calls are not in the page, because they may vary. Neither is
 * the order of files compared: which of several servers answers first is chance.
 */
export function differences(page: string, path: string, walk: Walk): string[] {
  const { request } = walk;
  const [before, now] = [filesOf(page, request), filesOf(withWalks(page, path, [walk]), request)];
  const gone = before.filter((file) => !now.includes(file)).map((file) => `${request}: no longer ${file}`);
  const added = now.filter((file) => !before.includes(file)).map((file) => `${request}: now also ${file}`);
  return [...gone, ...added];
}

function filesOf(page: string, request: string): string[] {
  const block = [...page.matchAll(BLOCK)].find(([, , name]) => name === request);
  return [...(block?.[3] ?? '').matchAll(/^\d+\. \[([^\]]+)\]/gm)].map(([, file = '']) => file);
}
