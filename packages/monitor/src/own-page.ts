/** Where the files of the page are. In this folder, because the place is counted from here, bundled or not. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The page as it was built with this package; null before it was built. */
export function ownPage(): string | null {
  const here = typeof __dirname === 'string' ? __dirname : import.meta.dirname;
  const folders = ['../page', '../dist/page'].map((place) => join(here, place));
  return folders.find((folder) => existsSync(join(folder, 'manifest.json'))) ?? null;
}
