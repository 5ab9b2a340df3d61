/** Mistakes in the line of waiters. */

import { Renewal } from '../../../src/locking/renewal.ts';
import { Attempts } from '../../../src/locking/waiting/attempt.ts';
import { Ticket } from '../../../src/locking/waiting/ticket.ts';
import { WaitLoop } from '../../../src/locking/waiting/wait-loop.ts';
import { driftMs, type Instant, leaseDeadline, remainingAt } from '../../../src/runtime/instant.ts';
import type { PlantedBug } from './bug.ts';
import { replace } from './code-bugs.ts';
import { luaBug } from './lua-bugs.ts';

const ALL = ['lock.acquire', 'lock.release', 'mutex.acquire', 'mutex.release'] as const;
const ACQUIRE = ['lock.acquire', 'mutex.acquire'] as const;
const RELEASE = ['lock.release', 'mutex.release'] as const;

/** Grants in the line are many, and some of their messages come when the claim is over. */
const LATE_GRANTS = {
  faults: ['message late'],
  terms: {
    kind: 'lock',
    names: ['a'],
    leasesMs: [10_000],
    worksMs: [5, 100, 400],
    pausesMs: [0, 1, 5],
    rounds: 20,
  },
  options: { claimMs: 300, handovers: 0 },
} as const;

type ClaimOf = Ticket['claimOf'];

/** What a grant is worth is told by somebody else. */
function claiming(wrong: (right: ClaimOf, ticket: Ticket) => ClaimOf): () => void {
  return replace(
    Ticket.prototype,
    'claimOf',
    (right) =>
      function claimOf(this: Ticket, ...args) {
        return wrong(right.bind(this), this)(...args);
      },
  );
}

function countedFromLastAsk(): () => void {
  const last = new WeakMap<Ticket, Instant>();
  const undoAsk = replace(
    Ticket.prototype,
    'ask',
    (right) =>
      function ask(this: Ticket, sentAt, claimMs) {
        last.set(this, sentAt);
        return right.call(this, sentAt, claimMs);
      },
  );
  const undoClaim = countedFrom(last);
  return () => {
    undoClaim();
    undoAsk();
  };
}

/** The claim of a ticket is counted from an ask that need not be the one that its grant echoes. */
function countedFrom(asks: WeakMap<Ticket, Instant>): () => void {
  return claiming((right, ticket) => (message, now) => {
    const claim = right(message, now);
    const sentAt = asks.get(ticket);
    if (claim === null || sentAt === undefined) return claim;
    const deadline = leaseDeadline(sentAt, claim.claimMs);
    return { ...claim, deadline, isYoung: remainingAt(deadline, now) > 0 };
  });
}

function countedFromLastAnsweredAsk(): () => void {
  const answered = new WeakMap<Ticket, Instant>();
  const asking: (readonly [Ticket, Instant])[] = [];
  const undoAsk = replace(
    Ticket.prototype,
    'ask',
    (right) =>
      function ask(this: Ticket, sentAt, claimMs) {
        asking.push([this, sentAt]);
        return right.call(this, sentAt, claimMs);
      },
  );
  const undoMake = replace(
    Attempts.prototype,
    'make',
    (right) =>
      async function make(this: Attempts, attempted) {
        asking.length = 0;
        const answering = right.call(this, attempted);
        // The ask is stated before the call is sent, in the same turn.
        const asked = asking.at(-1);
        const answer = await answering;
        if (answer.is === 'held' && asked !== undefined) answered.set(...asked);
        return answer;
      },
  );
  const undoClaim = countedFrom(answered);
  return () => {
    undoClaim();
    undoMake();
    undoAsk();
  };
}

export const LINE_BUGS: readonly PlantedBug[] = [
  {
    name: 'claim counted from its message',
    breaks: ['exclusion', 'counter'],
    ...LATE_GRANTS,
    patch: () =>
      claiming((right) => (message, now) => {
        const claim = right(message, now);
        return claim && { ...claim, deadline: leaseDeadline(now, claim.claimMs), isYoung: true };
      }),
  },
  {
    name: "claim counted by the server's clock",
    breaks: ['exclusion', 'counter'],
    ...LATE_GRANTS,
    patch: () =>
      claiming((right) => (message, now) => {
        const claim = right(message, now);
        if (claim === null) return null;
        // A fence is the server's time, in µs.
        const wallMs = message.firstFence / 1_000 + claim.claimMs - driftMs(claim.claimMs);
        const deadline = { wallMs, monotonicMs: now.monotonicMs + wallMs - now.wallMs };
        return { ...claim, deadline, isYoung: wallMs - now.wallMs >= claim.claimMs / 2 };
      }),
  },
  {
    name: 'claim counted from the last ask',
    breaks: ['exclusion', 'counter'],
    ...LATE_GRANTS,
    // Crowded: the lock has gone to somebody else when the message of a lost claim comes.
    terms: { ...LATE_GRANTS.terms, processes: 4, callers: 3, worksMs: [100, 400] },
    patch: countedFromLastAsk,
  },
  {
    name: 'claim counted from the last answered ask',
    breaks: ['exclusion', 'counter'],
    ...LATE_GRANTS,
    terms: { ...LATE_GRANTS.terms, processes: 4, callers: 3, worksMs: [100, 400] },
    patch: countedFromLastAnsweredAsk,
  },
  {
    name: 'old claim served',
    breaks: ['kept', 'exclusion', 'told'],
    ...LATE_GRANTS,
    patch: () =>
      claiming((right) => (message, now) => {
        const claim = right(message, now);
        return claim && { ...claim, isYoung: true };
      }),
  },
  {
    name: 'claim never extended to the lease',
    breaks: ['kept'],
    faults: [],
    terms: { leasesMs: [10_000], worksMs: [0, 30, 1_500] },
    options: { claimMs: 1_000 },
    patch: () =>
      replace(
        Renewal.prototype,
        'watch',
        (right) =>
          function watch(this: Renewal, hold, now, inMs) {
            right.call(this, hold, now, inMs === undefined ? undefined : 3_600_000);
          },
      ),
  },
  {
    name: 'reconnect not followed by an ask',
    breaks: ['served'],
    faults: ['subscription cut'],
    terms: { hasSubscriber: true, names: ['a'], worksMs: [50, 700], rounds: 20 },
    patch: () =>
      replace(
        WaitLoop.prototype as WaitLoop<{ readonly is: 'granted' }>,
        'receive',
        (right) =>
          function receive(this: WaitLoop<{ readonly is: 'granted' }>, message) {
            if (message !== null) right.call(this, message);
          },
      ),
  },
  luaBug(
    'ticket kept when its holder leaves',
    ['left', 'served'],
    [
      {
        scripts: RELEASE,
        from: 'local was_front = was_waiting and leave(line, state, holder)',
        to: 'local was_front = false',
      },
    ],
  ),
  luaBug(
    'ticket kept when its time is over',
    ['left'],
    [{ scripts: ALL, from: 'if left_ms < 0 or left_ms > DEADLINE_MS_MAX then', to: 'if false then' }],
    {
      faults: ['crash'],
      terms: { names: ['a'], faultMs: 8_000, worksMs: [50, 700], pausesMs: [0, 1, 5], rounds: 30 },
    },
  ),
  luaBug(
    'newcomer before the line',
    ['order'],
    [
      {
        scripts: ACQUIRE,
        from: 'if state.tickets == 0 and open_ms(state, now_ms) == 0 then',
        to: 'if open_ms(state, now_ms) == 0 then',
      },
    ],
  ),
  luaBug(
    'free lock not given on',
    ['served'],
    [
      {
        scripts: RELEASE,
        from: "local outcome = settle(key, fence, line, state, '', now_ms, now_us)",
        to: "local outcome = 'nobody'",
      },
    ],
  ),
  luaBug(
    'free lock not given on by an ask',
    ['served', 'order'],
    [
      {
        scripts: ACQUIRE,
        from: 'local outcome, owner = settle(key, fence, line, state, holder, now_ms, now_us)',
        to: "local outcome, owner = 'nobody', ''",
      },
    ],
  ),
  luaBug(
    'window for guests not respected',
    ['order'],
    [{ scripts: ALL, from: "if open_ms(state, now_ms) > 0 then return 'open', '' end", to: '' }],
    { faults: ['guest'] },
  ),
  luaBug(
    'repeated ask with fences by its own terms',
    ['fences'],
    [
      {
        scripts: ['lock.acquire'],
        from: 'return last, 1',
        to: 'return last - count + 1, count',
      },
    ],
    // The counter is ahead of a clock that was set back: then a block has one fence.
    { faults: ['node jump back'], terms: { kind: 'lock' }, options: { handovers: 64, fenceTtlMs: 0 } },
  ),
];
