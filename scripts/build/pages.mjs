// Copies the documentation into the package. A link to a file that is not in the package becomes its text, followed by
// the file's path in the repository.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

const LINK = /\[([^\]]*)\]\((\.\.?\/[^)#]*)(#[^)]*)?\)/g;

/**
 * @param {string} root the folder of the repository
 * @param {string} home the folder of the package in it
 * @param {string} target the folder of the package that is made
 */
export function copyPages(root, home, target) {
  const shipped = ['docs', ...JSON.parse(readFileSync(join(root, home, 'package.json'), 'utf8')).files];
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' });
  for (const page of pages.filter((path) => path.endsWith('.md'))) {
    const from = join('docs', page);
    const text = readFileSync(join(root, from), 'utf8').replaceAll(LINK, (link, words, path, anchor = '') => {
      const place = normalize(join(dirname(from), path)).replaceAll('\\', '/');
      const inPackage = place.startsWith(`${home}/`) ? place.slice(home.length + 1) : place;
      const isShipped = shipped.some((name) => inPackage === name || inPackage.startsWith(`${name}/`));
      const told = `\`${place}\` in the repository`;
      if (!isShipped) return words === place ? told : `${words} (${told})`;
      const address = relative(dirname(from), inPackage).replaceAll('\\', '/');
      return inPackage === place ? link : `[${words}](${address}${anchor})`;
    });
    const file = join(target, from);
    if (!existsSync(dirname(file))) mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
