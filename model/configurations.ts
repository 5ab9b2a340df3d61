/** What is checked: configurations in which every rule must hold, and planted bugs that must be found. */

/** One run of the checker. */
export interface Configuration {
  readonly name: string;
  /** The file in this folder. */
  readonly model: 'line' | 'linger' | 'quorum' | 'counter';
  /** What the run covers, for people. */
  readonly scope: string;
  /** The switches of the model that are not at their default. */
  readonly settings: Readonly<Record<string, number>>;
  /** Left out by `--quick`. */
  readonly isLong?: boolean;
}

export interface PlantedBug extends Configuration {
  /** The rule that the bug breaks. */
  readonly breaks: string;
}

/** The smallest scope of the line: no unanswered calls, no renewals, no fences. Two processes that want the lock once. */
const SMALL = { UNANSWERED: 0, RENEWS: 0, BLOCKS: 0 };
const SAFETY = { LIVENESS: 0 };

export const CONFIGURATIONS: readonly Configuration[] = [
  {
    name: 'line',
    model: 'line',
    scope: '2 processes; calls and grants late or lost, grants doubled; freezes, aborts, clock jumps',
    settings: SMALL,
  },
  {
    name: 'renewals',
    model: 'line',
    scope: 'the same, and owners that renew',
    settings: { ...SMALL, RENEWS: 1 },
    isLong: true,
  },
  {
    name: 'guest',
    model: 'line',
    scope: 'the same as line, a guest that takes a free key once, and windows for it',
    settings: { ...SMALL, GUESTS: 1, SERVED: 10 },
    isLong: true,
  },
  {
    name: 'try',
    model: 'line',
    scope: 'the same as line; one of the two only tries',
    settings: { ...SMALL, TRIES: 1 },
  },
  {
    name: 'crash',
    model: 'line',
    scope: 'the same as line, a crash, a subscription that breaks',
    settings: { ...SMALL, CRASHES: 1, CUTS: 1 },
    isLong: true,
  },
  {
    name: 'walk',
    model: 'line',
    scope: 'a crash, and a settle that looks at one place only',
    settings: { ...SMALL, CRASHES: 1, PROMPT: 1, WALK: 1, SERVED: 8 },
  },
  {
    name: 'deaf',
    model: 'line',
    scope: 'the same as line; nobody is subscribed at first',
    settings: { ...SMALL, HEARS: 0 },
    isLong: true,
  },
  {
    name: 'unanswered',
    model: 'line',
    scope: 'the same as line; asks without an answer arrive at any time',
    settings: { ...SMALL, UNANSWERED: 1 },
    isLong: true,
  },
  {
    name: 'clean-up',
    model: 'line',
    scope: 'the same as unanswered without clock jumps: late asks are refused, and nothing stays behind',
    settings: { ...SMALL, UNANSWERED: 1, STEPS: 0 },
    isLong: true,
  },
  {
    name: 'deaf unanswered',
    model: 'line',
    scope: 'nobody is subscribed at first, and late asks say so; the order of the line; safety only',
    settings: { ...SMALL, ...SAFETY, UNANSWERED: 1, HEARS: 0 },
    isLong: true,
  },
  {
    name: 'fences',
    model: 'line',
    scope: 'blocks of 1 or 2 fences, two grants of one holder on their way; safety only',
    settings: { ...SMALL, ...SAFETY, BLOCKS: 2, MESSAGES: 2, PROMPT: 1 },
    isLong: true,
  },
  {
    name: 'fences that cross',
    model: 'line',
    scope: 'blocks of 1 or 2 fences, and grants that cross asks under way; safety only',
    settings: { ...SMALL, ...SAFETY, BLOCKS: 2 },
    isLong: true,
  },
  {
    name: 'two waits',
    model: 'line',
    scope: '2 processes that want the lock twice, calls prompt or without an answer; safety only',
    settings: { ...SMALL, ...SAFETY, WAITS: 2, PROMPT: 1 },
    isLong: true,
  },
  {
    name: 'three',
    model: 'line',
    scope: '3 processes, calls prompt or without an answer, a crash; safety only',
    settings: { ...SMALL, ...SAFETY, PROCESSES: 3, PROMPT: 1, CRASHES: 1 },
    isLong: true,
  },
  {
    name: 'three served',
    model: 'line',
    scope: '3 processes, calls prompt or without an answer; all served after the faults',
    settings: { ...SMALL, PROCESSES: 3, PROMPT: 1 },
    isLong: true,
  },
  {
    name: 'outside',
    model: 'line',
    scope:
      'the same as fences; the key expires early, so two may believe: their fences differ, all are served',
    settings: { ...SMALL, BLOCKS: 2, OUTSIDE: 1, PROMPT: 1 },
    isLong: true,
  },
  { name: 'linger', model: 'linger', scope: 'a busy owner that keeps the lock, a waiter', settings: {} },
  {
    name: 'counter',
    model: 'counter',
    scope: 'a fence counter that expires, a clock that jumps',
    settings: {},
  },
  {
    name: 'quorum',
    model: 'quorum',
    scope: '3 servers, 2 callers, servers that begin from different times, single fences',
    settings: { BLOCKS: 1 },
  },
  {
    name: 'quorum blocks',
    model: 'quorum',
    scope: 'the same with blocks of 1 or 2 fences',
    settings: {},
    isLong: true,
  },
  {
    name: 'quorum callers',
    model: 'quorum',
    scope: '3 servers, 3 callers, one time, single fences',
    settings: { CALLERS: 3, TIMES: 1, BLOCKS: 1 },
    isLong: true,
  },
];

function bug(
  name: string,
  model: Configuration['model'],
  breaks: string,
  flag: string,
  scope: string,
  settings: Readonly<Record<string, number>> = {},
): PlantedBug {
  return { name, model, scope, breaks, settings: { ...settings, [`BUG_${flag}`]: 1 } };
}

const UNSAFE = { ...SMALL, ...SAFETY };
const CRASH = { ...SMALL, CRASHES: 1, PROMPT: 1, WALK: 1, SERVED: 8 };

export const PLANTED_BUGS: readonly PlantedBug[] = [
  bug(
    'claim from arrival',
    'line',
    'exclusion',
    'FROM_ARRIVAL',
    'counted from when the message came',
    UNSAFE,
  ),
  bug(
    'claim from server time',
    'line',
    'exclusion',
    'SERVER_TIME',
    "counted by the server's clock, which jumps",
    UNSAFE,
  ),
  bug(
    'claim from last answer',
    'line',
    'exclusion',
    'LAST_ANSWERED',
    'counted from the last answered ask',
    UNSAFE,
  ),
  bug('fences of yours', 'line', 'fences', 'YOURS', 'a repeated ask computes its block anew', {
    ...UNSAFE,
    BLOCKS: 2,
  }),
  bug('grant taken back', 'line', 'exclusion', 'UNCOUNTED', 'sent although nobody at this server listens', {
    ...UNSAFE,
    CUTS: 1,
  }),
  bug('newcomer', 'line', 'order', 'NEWCOMER', 'an ask takes a free key past the line', UNSAFE),
  bug('late mode', 'line', 'order', 'LATE_MODE', 'a late ask makes a ticket deaf', {
    ...UNSAFE,
    UNANSWERED: 1,
    HEARS: 0,
    PROMPT: 1,
  }),
  bug('nobody settles', 'line', 'served', 'NOBODY_SETTLES', 'only the release of the owner settles', SMALL),
  bug('no resync', 'line', 'served', 'NO_RESYNC', 'no new ask after a connection was remade', SMALL),
  bug('dead ticket', 'line', 'served', 'DEAD_TICKET', 'tickets have no deadline', CRASH),
  bug('no clean-up', 'line', 'cleaned', 'NO_CLEANUP', 'a late ask joins again after the release', {
    ...SMALL,
    UNANSWERED: 1,
    STEPS: 0,
  }),
  bug('ticket that left', 'line', 'cleaned', 'TICKET_STAYS', 'a release leaves its ticket in the line', {
    ...SMALL,
    STEPS: 0,
    PROMPT: 1,
  }),
  bug('whole lease', 'line', 'oneClaim', 'WHOLE_LEASE', 'the line grants a lease and no claim', UNSAFE),
  bug('line that stays', 'line', 'nothingLeft', 'LINE_STAYS', 'the line does not expire', {
    ...SMALL,
    CRASHES: 1,
    PROMPT: 1,
  }),
  bug('window ignored', 'line', 'windows', 'WINDOW', 'asks take the key that is left to guests', {
    ...UNSAFE,
    GUESTS: 1,
    PROMPT: 1,
  }),
  bug(
    'linger from release',
    'linger',
    'givenUp',
    'LOCAL_RELEASE',
    'counted from the last release of a caller',
  ),
  bug('wanted once', 'linger', 'givenUp', 'WANTED_ONCE', 'only the first ask says that the lock is wanted'),
  bug('counter expires early', 'counter', 'fences', 'EXPIRES_AHEAD', 'while its fence is ahead of the clock'),
  bug('counter alone', 'counter', 'fences', 'COUNTER_ALONE', 'fences do not begin from the time'),
  bug('clock alone', 'counter', 'fences', 'CLOCK_ALONE', 'the counter is not looked at'),
  bug('no second round', 'quorum', 'fences', 'NO_SECOND_ROUND', 'a fence that a majority does not store', {
    BLOCKS: 1,
  }),
  bug('longest block', 'quorum', 'fences', 'LONGEST_BLOCK', 'a block whose end a majority does not store'),
  bug('common time alone', 'quorum', 'fences', 'TIME_ALONE', 'the common time below the counter', {
    BLOCKS: 1,
  }),
];
