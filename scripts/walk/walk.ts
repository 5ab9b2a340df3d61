/** One request, followed by file. */
import { relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Build } from './build.ts';
import { callsOf, type Work } from './coverage.ts';
import type { WalkRequest } from './requests.ts';

/** Enough to load every module, connect, and fill the caches of scripts. */
const WARM_RUNS = 3;
/** After a run: time for replies that nobody waits for. */
const SETTLE_MS = 50;

export interface WalkedFile {
  /** Relative to the root: `packages/holdfast/src/locking/session.ts`. */
  readonly file: string;
  /** Calls of functions in the file. */
  readonly calls: number;
  /** In the order of their first calls. */
  readonly functions: readonly { readonly name: string; readonly calls: number }[];
}

export interface Walk {
  readonly request: string;
  readonly about: string;
  /** In the order in which the request first enters them. */
  readonly files: readonly WalkedFile[];
}

export async function walk(name: string, { about, prepare }: WalkRequest, build: Build): Promise<Walk> {
  const closers: (() => unknown)[] = [];
  try {
    const work = await prepare(build, (close) => closers.unshift(close));
    const settled: Work = {
      ready: async () => work.ready?.(),
      async run() {
        await work.run();
        await sleep(SETTLE_MS);
      },
    };
    for (let run = 0; run < WARM_RUNS; run += 1) {
      await settled.ready?.();
      await settled.run();
    }
    const files = new Map<string, { name: string; calls: number }[]>();
    for (const { file, name: called, calls } of await callsOf(build.folder, settled)) {
      const source = relative(build.folder, file).replaceAll('\\', '/').replace(/\.js$/, '.ts');
      files.set(source, [...(files.get(source) ?? []), { name: called, calls }]);
    }
    return { request: name, about, files: [...files].map(summarise) };
  } finally {
    for (const close of closers) await close();
  }
}

function summarise([file, functions]: [string, { name: string; calls: number }[]]): WalkedFile {
  return { file, calls: functions.reduce((sum, { calls }) => sum + calls, 0), functions };
}
