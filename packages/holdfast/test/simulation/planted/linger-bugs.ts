/** Mistakes around holds that a process keeps although nobody uses them. Two are those of `model/linger.pml`. */
import { Entrance } from '../../../src/locking/entrance.ts';
import type { Hold } from '../../../src/locking/hold.ts';
import { Holds } from '../../../src/locking/holds.ts';
import type { PlantedBug } from './bug.ts';
import { replace } from './code-bugs.ts';
import { luaBug } from './lua-bugs.ts';

/** Messages are lost, the lock is wanted in other processes, and used again and again in those that keep it. */
const BUSY = {
  kind: 'lock',
  names: ['a'],
  leasesMs: [30_000],
  worksMs: [0, 5, 20],
  pausesMs: [1, 30, 100],
  rounds: 40,
  callerLingersMs: [null],
} as const;

/** Counts the time of a hold anew whenever a caller gives it back, unless it is known to be wanted. */
function countedFromRelease(): () => void {
  const begun = new WeakMap<Hold, { readonly lingerMs: number; readonly look: () => void }>();
  const undoAdd = replace(
    Holds.prototype,
    'add',
    (right) =>
      function add(this: Holds, hold, look) {
        const lingerMs = hold.lingerUntilMs - hold.grantedMs;
        begun.set(hold, { lingerMs, look });
        right.call(this, hold, look);
      },
  );
  const undoKeep = replace(
    Holds.prototype,
    'keep',
    (right) =>
      function keep(this: Holds, hold) {
        const { clock } = hold.keeper.session.timers;
        const { lingerMs, look } = begun.get(hold) ?? { lingerMs: 0, look: () => {} };
        if (hold.linger !== undefined && hold.linger.untilMs > 0) {
          hold.linger.untilMs = clock.monotonicMs() + lingerMs;
          clock.startTimer(Math.ceil(lingerMs), look);
        }
        return right.call(this, hold);
      },
  );
  return () => {
    undoKeep();
    undoAdd();
  };
}

/** A close thinks of owners only. */
function leftByClose(): () => void {
  const undoTurning = replace(Holds.prototype, 'endLinger', () => () => {});
  const undoClose = replace(
    Entrance.prototype,
    'close',
    () =>
      function close(this: Entrance) {
        this.turnAway();
        for (const hold of this.holds.all)
          if (hold.isLive && hold.owners.length > 0) this.lost(hold, 'closed');
      },
  );
  return () => {
    undoClose();
    undoTurning();
  };
}

export const LINGER_BUGS: readonly PlantedBug[] = [
  {
    name: 'kept hold given up before its first owner',
    breaks: ['kept', 'told', 'left', 'served'],
    options: { lingerMs: 500 },
    patch: () =>
      replace(
        Holds.prototype,
        'add',
        (right) =>
          function add(this: Holds, hold, look) {
            right.call(this, hold, look);
            if (hold.linger !== undefined && hold.lingerUntilMs === 0) look();
          },
      ),
  },
  {
    name: 'hold kept although it is wanted',
    breaks: ['left', 'served'],
    faults: [],
    terms: { leasesMs: [30_000], worksMs: [0, 1], pausesMs: [1, 30, 100], callers: 1 },
    options: { lingerMs: 500, handovers: 64 },
    patch: () =>
      replace(
        Holds.prototype,
        'isKept',
        () =>
          function isKept(this: Holds, hold) {
            return hold.linger !== undefined && hold.handoversLeft > 0;
          },
      ),
  },
  {
    name: 'linger from release',
    breaks: ['served'],
    faults: ['message lost'],
    terms: BUSY,
    options: { lingerMs: 500, handovers: 64, handoverMs: 50, callTimeoutMs: 300 },
    patch: countedFromRelease,
  },
  luaBug(
    'wanted once',
    ['served'],
    [
      {
        scripts: ['lock.acquire'],
        from: "if ticket ~= '-' then want(line, field[1]) end",
        to: "if ticket ~= '-' and not (state and state.place) then want(line, field[1]) end",
      },
    ],
    {
      faults: ['message lost'],
      terms: { ...BUSY, processes: 2, callers: 1, pausesMs: [1, 30] },
      options: { lingerMs: 10_000, handovers: 64, handoverMs: 50 },
    },
  ),
  {
    name: 'kept hold left by a close',
    breaks: ['served', 'left'],
    faults: ['close'],
    terms: { ...BUSY, names: ['a', 'b'], processes: 4, callers: 1, pausesMs: [20, 300] },
    options: { lingerMs: 5_000, handovers: 64, handoverMs: 50 },
    patch: leftByClose,
  },
];
