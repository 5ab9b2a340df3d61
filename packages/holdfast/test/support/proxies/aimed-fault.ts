/** A fault that waits for its request, and the ways to say which request that is. */

export type Args = readonly string[];

/** Says whether a request is the one a fault is aimed at. */
export type Match = (args: Args) => boolean;

interface Text {
  readonly sha: string;
  readonly source: string;
  /** The text that runs it for many at once, if there is one. */
  readonly bundle?: Text;
}

/** Requests that run this script, by its hash or by its text, for one or for many at once. */
export function script({ sha, source, bundle }: Text): Match {
  const runsMany = bundle === undefined ? () => false : script(bundle);
  return (args) => {
    const [verb = '', text = ''] = args;
    if (/^evalsha(_ro)?$/i.test(verb) && text.toLowerCase() === sha) return true;
    return (/^eval(_ro)?$/i.test(verb) && text === source) || runsMany(args);
  };
}

/** Requests that begin with these words, in any case: `command('CLIENT', 'SETINFO')`. */
export function command(...words: string[]): Match {
  return (args) => words.every((word, index) => args[index]?.toLowerCase() === word.toLowerCase());
}

export type FaultKind = 'cut-before' | 'cut-after' | 'drop-reply' | 'delay-reply';

/**
 * A request claims the fault when it passes; the fault fires when the thing has happened. In between the
 * connection may break for another reason, or the script prove unknown: then the claim is given back and the
 * fault waits for another request.
 */
export class AimedFault {
  readonly kind: FaultKind;
  readonly delayMs: number;
  /** Resolves with the request of the last firing. */
  readonly done: Promise<Args>;
  readonly #match: Match;
  readonly #resolve: (args: Args) => void;
  #claimsLeft: number;
  #firingsLeft: number;

  constructor(kind: FaultKind, match: Match, times: number, delayMs: number) {
    let resolveDone: (args: Args) => void = () => {};
    this.done = new Promise((resolve) => {
      resolveDone = resolve;
    });
    this.#resolve = resolveDone;
    this.kind = kind;
    this.delayMs = delayMs;
    this.#match = match;
    this.#claimsLeft = times;
    this.#firingsLeft = times;
  }

  claim(args: Args): boolean {
    if (this.#claimsLeft === 0 || !this.#match(args)) return false;
    this.#claimsLeft -= 1;
    return true;
  }

  giveBack(): void {
    this.#claimsLeft += 1;
  }

  fire(args: Args): void {
    this.#firingsLeft -= 1;
    if (this.#firingsLeft === 0) this.#resolve(args);
  }
}
