/** Pictures of every page and state in every look, as `npm run screenshots` takes them (`npm run test:monitor`). */
import { mkdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { isLong, LONG_TEST } from '../../support/long.ts';
import type { Bench } from '../support/bench.ts';
import { LOOKS, pictureOf, SCENE_NAMES, take } from '../support/scenes.ts';

const FOLDER = resolve(import.meta.dirname, '../../../../../.cache/screenshots');
/** A picture with nothing on it is smaller. */
const BYTES_MIN = 5_000;

export function pictureRules(bench: Bench): void {
  test.runIf(isLong).each(Object.keys(LOOKS))(
    '%s: every scene is drawn, and without a fault',
    LONG_TEST,
    async (look) => {
      mkdirSync(FOLDER, { recursive: true });
      expect(await take(bench.browser, bench.monitor, look, FOLDER)).toEqual([]);
      for (const scene of SCENE_NAMES) {
        const picture = readFileSync(pictureOf(FOLDER, scene, look));
        expect(picture.length, scene).toBeGreaterThan(BYTES_MIN);
      }
    },
  );
}
