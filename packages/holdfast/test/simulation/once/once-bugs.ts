/** Mistakes in the scripts of `once`: each breaks a rule of its own. */
import type { PlantedBug } from '../planted/bug.ts';
import { luaBug } from '../planted/lua-bugs.ts';

/** Runs that outlive their leases, in processes that stop for a while and come back. */
const LATE_RUNS = {
  faults: ['pause', 'half-open'],
  terms: { leasesMs: [200], worksMs: [50, 700], processes: 3 },
} as const;

export const ONCE_BUGS: readonly PlantedBug[] = [
  luaBug(
    'late store',
    ['one result', 'stored', 'attempts'],
    [{ scripts: ['once.finish'], from: 'if not is_ours and not is_locked then', to: 'if not kept[1] then' }],
    LATE_RUNS,
  ),
  luaBug(
    'begin forgets repeat',
    ['attempts', 'served'],
    [{ scripts: ['once.begin'], from: "kept.state == 'running' and kept.owner == holder", to: 'false' }],
    { faults: ['half-open', 'stall', 'cut', 'freeze'], terms: { leasesMs: [10_000] } },
  ),
  luaBug(
    'attempt reset',
    ['attempts'],
    [
      {
        scripts: ['once.begin'],
        from: 'start(record, holder, kept.attempt + 1',
        to: 'start(record, holder, 1',
      },
    ],
    // Runs that end without a word: those that say how they ended state their attempt once more.
    LATE_RUNS,
  ),
  luaBug(
    'owner not cleared on abandon',
    ['stored'],
    [{ scripts: ['once.begin'], from: "'state', 'failed', 'owner', ''", to: "'state', 'failed'" }],
    LATE_RUNS,
  ),
];
