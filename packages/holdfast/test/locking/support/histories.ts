/** Random histories for the model test: what callers do, and what becomes of each of their calls. */
import fc from 'fast-check';

/** Two names are enough to meet each other, and to be renewed in one batch. */
export const NAMES = ['a', 'b'] as const;
export type Name = (typeof NAMES)[number];
export const PROCESSES = 3;

export type Step =
  | {
      readonly does: 'acquire' | 'try';
      readonly who: number;
      readonly name: Name;
      readonly waitMs: number;
      readonly leaseMs: number;
      readonly renew: boolean;
      /** How many callers come at once. */
      readonly callers: number;
    }
  /** `at` chooses among what is there by then. */
  | { readonly does: 'enter again' | 'release' | 'abort'; readonly at: number }
  | { readonly does: 'extend'; readonly at: number; readonly leaseMs: number }
  | { readonly does: 'pass' | 'sleep'; readonly ms: number }
  /** Somebody deletes the key by hand. */
  | { readonly does: 'delete'; readonly name: Name }
  | { readonly does: 'close' | 'destroy'; readonly who: number };

/** The fate of one call, before the order of a connection is put on it. */
export type Luck =
  | { readonly is: 'answered'; readonly effectMs: number; readonly answerMs: number }
  /** The server runs it, the answer is lost; with a time the connection is cut then. */
  | { readonly is: 'lost'; readonly effectMs: number; readonly cutMs: number | null }
  | { readonly is: 'hanging' | 'refused' | 'failing' }
  /** The connection is cut, and the request goes on by itself. */
  | { readonly is: 'stray'; readonly effectMs: number; readonly cutMs: number };

export interface History {
  readonly steps: readonly Step[];
  /** Used again from the start when they run out. */
  readonly luck: readonly Luck[];
  readonly handovers: number;
  readonly handoverMs: number;
}

const at = fc.nat(20);
// Uneven on purpose: callers of one process must meet each other, and those of another.
const who = fc.constantFrom(0, 0, 0, 0, 1, 1, PROCESSES - 1);
const name = fc.constantFrom('a', 'a', 'a', ...NAMES);
const leaseMs = fc.constantFrom(60, 200, 300, 900, 3_000, 30_000);

const passMs = fc.oneof(
  { weight: 4, arbitrary: fc.nat(20) },
  { weight: 2, arbitrary: fc.nat(400) },
  fc.nat(2_000),
);

function stepOf(extra: readonly fc.WeightedArbitrary<Step>[]): fc.Arbitrary<Step> {
  const acquire = fc.record({
    does: fc.constantFrom('acquire' as const, 'acquire' as const, 'try' as const),
    who,
    name,
    waitMs: fc.constantFrom(0, 50, 700, 3_000, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
    leaseMs,
    renew: fc.boolean(),
    callers: fc.constantFrom(1, 1, 2, 4),
  });
  return fc.oneof(
    { weight: 120, arbitrary: acquire },
    { weight: 40, arbitrary: fc.record({ does: fc.constant('enter again' as const), at }) },
    { weight: 120, arbitrary: fc.record({ does: fc.constant('release' as const), at }) },
    { weight: 8, arbitrary: fc.record({ does: fc.constant('abort' as const), at }) },
    { weight: 20, arbitrary: fc.record({ does: fc.constant('extend' as const), at, leaseMs }) },
    { weight: 100, arbitrary: fc.record({ does: fc.constant('pass' as const), ms: passMs }) },
    ...extra,
  );
}

const shortMs = fc.oneof(
  { weight: 5, arbitrary: fc.nat(4) },
  { weight: 2, arbitrary: fc.nat(60) },
  fc.nat(700),
);

const luck: fc.Arbitrary<Luck> = fc.oneof(
  {
    weight: 36,
    arbitrary: fc.record({ is: fc.constant('answered' as const), effectMs: shortMs, answerMs: shortMs }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      is: fc.constant('lost' as const),
      effectMs: shortMs,
      cutMs: fc.option(shortMs),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ is: fc.constantFrom('hanging' as const, 'refused' as const, 'failing' as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ is: fc.constant('stray' as const), effectMs: fc.nat(3_000), cutMs: shortMs }),
  },
);

function histories(extra: readonly fc.WeightedArbitrary<Step>[]): fc.Arbitrary<History> {
  return fc.record({
    // Without the size fast-check draws a handful of steps, and nobody meets.
    steps: fc.array(stepOf(extra), { minLength: 1, maxLength: 120, size: 'max' }),
    luck: fc.array(luck, { minLength: 1, maxLength: 60, size: 'max' }),
    handovers: fc.constantFrom(0, 1, 64, 64),
    handoverMs: fc.constantFrom(50, 5_000, 5_000),
  });
}

const close: fc.WeightedArbitrary<Step> = {
  weight: 1,
  arbitrary: fc.record({ does: fc.constantFrom('close' as const, 'destroy' as const), who }),
};
const sleep: fc.WeightedArbitrary<Step> = {
  weight: 20,
  arbitrary: fc.record({ does: fc.constant('sleep' as const), ms: fc.constantFrom(30, 200, 1_000, 5_000) }),
};
const remove: fc.WeightedArbitrary<Step> = {
  weight: 15,
  arbitrary: fc.record({ does: fc.constant('delete' as const), name }),
};

/** Nobody meddles: whoever holds must be the only one. */
export const ORDINARY: fc.Arbitrary<History> = histories([close]);

/** The machine sleeps now and then, and the server does not. */
export const SLEEPY: fc.Arbitrary<History> = histories([close, sleep]);

/** Somebody deletes keys by hand: two may hold for a while, and nothing may be left behind all the same. */
export const MEDDLED: fc.Arbitrary<History> = histories([close, remove]);
