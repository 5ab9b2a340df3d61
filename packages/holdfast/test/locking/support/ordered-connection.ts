/** A connection of the model test: what luck says becomes of each call, in the order that a connection keeps. */
import { CallFailure } from '../../../src/clients/client.ts';
import type { Clock } from '../../../src/runtime/clock.ts';
import type { Luck } from './histories.ts';
import type { Fate } from './scripted-client.ts';

const UNREACHABLE = new CallFailure('unreachable', 'no connection');
const LOADING = new CallFailure('reply', 'LOADING Redis is loading the dataset in memory', 'LOADING');
const CUT = new CallFailure('unknown', 'the connection was lost');

/** Its requests run, and its answers come, in the order in which they were sent; only strays go their own way. */
export function orderedConnection(clock: Clock, luck: () => Luck): () => Fate {
  let effectAtMs = 0;
  let answerAtMs = 0;
  return () => {
    const drawn = luck();
    const nowMs = clock.monotonicMs();
    switch (drawn.is) {
      case 'refused':
        return { effectMs: null, answerMs: 0, instead: UNREACHABLE };
      case 'failing':
        return { effectMs: null, answerMs: 1, instead: LOADING };
      case 'hanging':
        return { effectMs: null, answerMs: null };
      case 'stray':
        return { effectMs: drawn.effectMs, answerMs: drawn.cutMs, instead: CUT };
      case 'lost':
        effectAtMs = Math.max(effectAtMs, nowMs + drawn.effectMs);
        return { effectMs: effectAtMs - nowMs, answerMs: drawn.cutMs, instead: CUT };
      case 'answered':
        effectAtMs = Math.max(effectAtMs, nowMs + drawn.effectMs);
        answerAtMs = Math.max(answerAtMs, effectAtMs + drawn.answerMs);
        return { effectMs: effectAtMs - nowMs, answerMs: answerAtMs - nowMs };
    }
  };
}
