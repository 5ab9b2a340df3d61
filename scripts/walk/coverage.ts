/**
 * Which functions a piece of work calls, how often, and in which order. V8's precise coverage counts the calls of one
 * run; an async function that goes on after an `await` counts once more. Coverage has no order, so the same work runs
 * again with a breakpoint at the start of every function: its condition notes the call and never pauses. A function that
 * only one of the two runs calls is left out: a timer called it, or V8 took `instanceof` for a call of the class.
 */
import { readFileSync } from 'node:fs';
import { type Debugger, Session } from 'node:inspector/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Work that can be repeated. `ready` comes before each run and is not counted. */
export interface Work {
  ready?(): Promise<void>;
  run(): Promise<void>;
}

export interface CalledFunction {
  /** Path of the compiled file. */
  readonly file: string;
  readonly name: string;
  readonly calls: number;
}

interface Found extends CalledFunction {
  readonly scriptId: string;
  readonly start: number;
  readonly end: number;
}

/** The breakpoints' conditions call this global function with the index of the function. */
const NOTE = '__holdfastWalkNote';
type Global = Record<string, ((index: number) => false) | undefined>;

/** Functions below `folder` that `work` calls, in the order of their first calls. The work must be warm. */
export async function callsOf(folder: string, work: Work): Promise<CalledFunction[]> {
  const session = new Session();
  session.connect();
  try {
    const found = await countCalls(session, pathToFileURL(folder).href, work);
    const called = await inOrderOfFirstCall(session, found, work);
    return called.map(({ file, name, calls }) => ({ file, name, calls }));
  } finally {
    session.disconnect();
  }
}

async function countCalls(session: Session, prefix: string, work: Work): Promise<Found[]> {
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await work.ready?.();
  // Taking the coverage sets all counts to 0.
  await session.post('Profiler.takePreciseCoverage');
  await work.run();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  return result
    .filter(({ url }) => url.startsWith(prefix))
    .flatMap(({ url, scriptId, functions }) =>
      functions.flatMap(({ functionName, ranges: [range] }): Found[] => {
        // Not in the sources: esbuild's helpers (`__using`), and V8's functions for fields of a class (`<…>`).
        if (range === undefined || range.count === 0 || /^(__|<)/.test(functionName)) return [];
        const { startOffset: start, endOffset: end, count: calls } = range;
        return [
          { file: fileURLToPath(url), name: functionName || '(anonymous)', calls, scriptId, start, end },
        ];
      }),
    );
}

async function inOrderOfFirstCall(session: Session, found: readonly Found[], work: Work): Promise<Found[]> {
  await work.ready?.();
  const called = new Set<Found>();
  const global = globalThis as unknown as Global;
  global[NOTE] = (index) => {
    const each = found[index];
    if (each !== undefined) called.add(each);
    return false;
  };
  await session.post('Debugger.enable');
  try {
    for (const [index, each] of found.entries()) await breakAtStart(session, each, `${NOTE}(${index})`);
    await work.run();
  } finally {
    await session.post('Debugger.disable');
    delete global[NOTE];
  }
  return [...called];
}

async function breakAtStart(session: Session, { file, scriptId, start, end }: Found, condition: string) {
  const text = readFileSync(file, 'utf8');
  const at = (offset: number): Debugger.Location => ({ scriptId, ...lineAndColumn(text, offset) });
  const { locations } = await session.post('Debugger.getPossibleBreakpoints', {
    start: at(start),
    end: at(end),
  });
  const lines = text.split('\n');
  const codeAt = ({ lineNumber, columnNumber = 0 }: Debugger.Location) =>
    lines[lineNumber]?.slice(columnNumber);
  // A breakpoint at `super()` makes V8 evaluate the call twice.
  const location = locations.find((possible) => codeAt(possible)?.startsWith('super(') !== true);
  if (location === undefined) return;
  // Two functions may begin at the same place, `() => () => 1`: the inner one then has no breakpoint of its own.
  await session.post('Debugger.setBreakpoint', { location, condition }).catch(() => {});
}

function lineAndColumn(text: string, offset: number): { lineNumber: number; columnNumber: number } {
  const before = text.slice(0, offset).split('\n');
  return { lineNumber: before.length - 1, columnNumber: before.at(-1)?.length ?? 0 };
}
