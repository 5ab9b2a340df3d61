/** A fault that waits for its request, and the ways to say which request that is. */

export type Args = readonly string[];

/** Says whether a request is the one a fault is aimed at. */
export type Match = (args: Args) => boolean;

/** Requests that run this script, by its hash or by its text. */
export function script({ sha, source }: { readonly sha: string; readonly source: string }): Match {
  return ([verb = '', text = '']) => {
    if (/^evalsha(_ro)?$/i.test(verb)) return text.toLowerCase() === sha;
    return /^eval(_ro)?$/i.test(verb) && text === source;
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
