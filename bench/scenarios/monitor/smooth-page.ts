/** The page of a real monitor in a real browser. Null where there is no browser. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** In a process of its own: it is a program of the browser's tests. */
const PROGRAM = fileURLToPath(new URL('../../../packages/monitor/test/page/frames-of.ts', import.meta.url));

export interface PageFigures {
  readonly framesPerSecond: number;
  readonly p95Ms: number;
  readonly longestTaskMs: number;
}

export interface SmoothPage {
  readonly bars: PageFigures;
  readonly phases: readonly (PageFigures & { readonly phase: string })[];
}

export async function measurePage(url: string): Promise<SmoothPage | null> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', PROGRAM, url]);
  return JSON.parse(stdout) as SmoothPage | null;
}
