/** Mistakes that are made on purpose in the scripts and the code of jobs. */
import type { ScriptText } from '../../../src/index.ts';
import { ServerTime } from '../../../src/primitives/schedule/server-time.ts';
import { jobFinish, jobStart } from '../../../src/scripts/generated.ts';
import type { JobBug } from './job-world.ts';

function luaBug(
  name: string,
  breaks: readonly string[],
  script: ScriptText,
  from: string,
  to: string,
): JobBug {
  // A script that was rewritten must not make a planted bug disappear without a word.
  if (!script.source.includes(from)) throw new Error(`the bug ${name} finds nothing to change`);
  const change = (text: ScriptText): string =>
    text.name === script.name ? text.source.replace(from, to) : text.source;
  return { name, breaks, change };
}

/** The clock of the machine instead of the server's. */
function useWallClock(): () => void {
  const { prototype } = ServerTime;
  const real = Object.getOwnPropertyDescriptor(prototype, 'nowMs') as PropertyDescriptor;
  const clocks = new WeakMap<object, number>();
  let made = 0;
  Object.defineProperty(prototype, 'nowMs', {
    configurable: true,
    get(this: ServerTime): number | null {
      const nowMs = real.get?.call(this) as number | null;
      if (!clocks.has(this)) clocks.set(this, (made++ % 2 === 0 ? 1 : -1) * 20_000);
      return nowMs === null ? null : nowMs + (clocks.get(this) ?? 0);
    },
  });
  return () => Object.defineProperty(prototype, 'nowMs', real);
}

export const JOB_BUGS: readonly JobBug[] = [
  luaBug(
    'marker ignored when done',
    ['again', 'once', 'deploy'],
    jobStart.text,
    'if OVER[marker.state] then return marker.state end',
    '',
  ),
  luaBug(
    'marker not monotone',
    ['once', 'again'],
    jobStart.text,
    'elseif marker.slot > slot_ms then',
    'elseif false then',
  ),
  luaBug('no EARLY', ['early'], jobStart.text, "if now_ms < slot_ms then return 'early' end", ''),
  luaBug(
    "late finish deletes another's lock",
    ['overlap', 'stolen'],
    jobFinish.text,
    "redis.pcall('HDEL', lock, holder) == 1",
    "redis.call('DEL', lock) == 1",
  ),
  luaBug(
    'baseline missing',
    ['deploy'],
    jobStart.text,
    'if marker.slot == 0 and is_known == 0 then',
    'if false then',
  ),
  { name: 'wall clock used', breaks: ['missing'], patch: useWallClock, isCalm: true },
];
