/** Mistakes that are made on purpose in the code of leaders. */
import { Campaign } from '../../../src/primitives/leader/campaign.ts';
import { Term, type TermOutcome } from '../../../src/primitives/leader/term.ts';
import type { LeaderBug } from './leader-world.ts';

/** A term is over as soon as its body was told, for those endings. */
function endAtOnce(isEnding: (end: string) => boolean): () => void {
  const real = Term.prototype.run;
  const realEnd = Term.prototype.end;
  const over = new WeakMap<Term, (outcome: TermOutcome) => void>();
  Term.prototype.end = function end(this: Term, why, reason): void {
    realEnd.call(this, why, reason);
    if (isEnding(why)) over.get(this)?.({ end: why, isStuck: false });
  };
  Term.prototype.run = function run(this: Term, body): Promise<TermOutcome> {
    const told = new Promise<TermOutcome>((resolve) => over.set(this, resolve));
    return Promise.race([real.call(this, body), told]);
  };
  return () => {
    Term.prototype.run = real;
    Term.prototype.end = realEnd;
  };
}

function campaignOnce(): () => void {
  const real = Campaign.prototype.win;
  const done = new WeakSet<Campaign>();
  Campaign.prototype.win = async function win(this: Campaign) {
    if (done.has(this)) return null;
    done.add(this);
    return real.call(this);
  };
  return () => {
    Campaign.prototype.win = real;
  };
}

export const LEADER_BUGS: readonly LeaderBug[] = [
  {
    name: 'release before settle',
    breaks: ['settled', 'process'],
    patch: () => endAtOnce((end) => end !== 'lost'),
  },
  {
    name: 'campaign while the old body runs',
    breaks: ['process'],
    patch: () => endAtOnce((end) => end === 'lost'),
  },
  { name: 'no second campaign', breaks: ['nobody'], patch: campaignOnce },
];
