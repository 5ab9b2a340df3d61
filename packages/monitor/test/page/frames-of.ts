/**
 * The same as `frames.ts` for a monitor that runs already: `tsx frames-of.ts <url>` prints one line of JSON, or `null` where there
 * is no browser. `npm run bench -- monitor` uses it.
 */
import { hasBrowser, launch, openTab } from './support/browser.ts';
import { BARS, measureSmoothness } from './support/smoothness.ts';

const [url] = process.argv.slice(2);
if (url === undefined) throw new Error('expected the address of a monitor, got none');
if (!hasBrowser()) console.log('null');
else {
  const browser = await launch();
  try {
    const { page } = await openTab(browser, url);
    await page.locator('.row').first().waitFor();
    console.log(JSON.stringify({ bars: BARS, phases: await measureSmoothness(page) }));
  } finally {
    await browser.close();
  }
}
