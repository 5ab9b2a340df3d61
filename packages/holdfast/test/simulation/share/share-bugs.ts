/** Mistakes in how the key is left to guests that listen: by each of them somebody has too many turns. */
import { ReleaseListener } from '../../../src/locking/waiting/release-listener.ts';
import type { PlantedBug } from '../planted/bug.ts';
import { replace } from '../planted/code-bugs.ts';
import { luaBug } from '../planted/lua-bugs.ts';

/** What is promised of guests stands with what is promised of all who wait. */
const SHARES = ['served'] as const;
const RELEASE = ['lock.release'] as const;
const ACQUIRE = ['lock.acquire'] as const;

export const SHARE_BUGS: readonly PlantedBug[] = [
  luaBug('turns of guests not counted', SHARES, [
    {
      scripts: ACQUIRE,
      from: 'math.min(state.window, 0) - state.heard',
      to: 'math.min(state.window, 0)',
    },
  ]),
  luaBug('count of turns never falls back', SHARES, [
    {
      scripts: RELEASE,
      from: "'window', length_ms, 'run', 0",
      to: "'window', math.min(0, tonumber(redis.call('HGET', line, 'window'))), 'run', 0",
    },
  ]),
  luaBug('turns rounded for each of them', SHARES, [
    {
      scripts: RELEASE,
      from: 'turns * (state.tickets + 1) / listeners - 0.5',
      to: 'turns * math.floor((state.tickets + 1) / listeners)',
    },
  ]),
  luaBug('first in line not told of a window', SHARES, [
    {
      scripts: RELEASE,
      from: 'wake(line, state, is_polled and length_ms or 0)',
      to: 'wake(line, state, length_ms)',
    },
  ]),
  luaBug('no windows for guests', SHARES, [
    { scripts: RELEASE, from: 'if length_ms > 0 then', to: 'if false then' },
  ]),
  {
    name: 'release told with each ask',
    breaks: SHARES,
    patch: () => {
      const told = new WeakMap<ReleaseListener, number>();
      return replace(
        ReleaseListener.prototype,
        'takeReleases',
        (right) =>
          function takeReleases(this: ReleaseListener) {
            const all = (told.get(this) ?? 0) + right.call(this);
            told.set(this, all);
            return Math.min(all, 99);
          },
      );
    },
  },
  {
    name: 'an owner of ours listens with the guests',
    breaks: SHARES,
    patch: () => replace(ReleaseListener.prototype, 'close', () => () => {}),
  },
];
