/**
 * Holds that have ended: one ring of fixed arrays, 42 bytes a hold, and the names and sessions each once. The oldest makes room
 * for the newest.
 */
import { ENDS, type End, type Surety } from '../../api/types.ts';

const HOLDS_MAX = 500_000;
/** How much memory the names and sessions may take. */
const TEXT_BYTES_MAX = 64 * 1024 * 1024;
/** An entry of two maps beside the text itself. */
const TEXT_OVERHEAD = 64;

const NONE = 0xffffffff;

/** Texts by number, counted, so that one that nobody refers to is forgotten. */
class Texts {
  readonly #numbers = new Map<string, number>();
  readonly #texts = new Map<number, { readonly text: string; uses: number }>();
  #next = 0;
  bytes = 0;

  find(text: string): number | undefined {
    return this.#numbers.get(text);
  }

  use(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) {
      const entry = this.#texts.get(known);
      if (entry !== undefined) entry.uses += 1;
      return known;
    }
    this.#next = (this.#next + 1) >>> 0;
    this.#numbers.set(text, this.#next);
    this.#texts.set(this.#next, { text, uses: 1 });
    this.bytes += text.length * 2 + TEXT_OVERHEAD;
    return this.#next;
  }

  drop(number: number): void {
    const entry = this.#texts.get(number);
    if (entry === undefined) return;
    entry.uses -= 1;
    if (entry.uses > 0) return;
    this.#texts.delete(number);
    this.#numbers.delete(entry.text);
    this.bytes -= entry.text.length * 2 + TEXT_OVERHEAD;
  }

  text(number: number): string {
    return this.#texts.get(number)?.text ?? '';
  }
}

export interface PastHold {
  readonly name: string;
  readonly holder: string;
  /** Who the holder was, as one text without line breaks: see `Picture`. */
  readonly who: string;
  readonly from: number;
  readonly to: number;
  readonly end: End;
  readonly sure: Surety;
  readonly withinMs: number;
}

export class HoldRing {
  readonly #max: number;
  readonly #names: Uint32Array;
  readonly #owners: Uint32Array;
  /** NaN: none. */
  readonly #holdNumbers: Float64Array;
  readonly #from: Float64Array;
  readonly #to: Float64Array;
  readonly #within: Uint32Array;
  readonly #previous: Uint32Array;
  readonly #ends: Uint8Array;
  readonly #sure: Uint8Array;
  readonly #texts = new Texts();
  /** The last hold of each name, by the number of its text. */
  readonly #last = new Map<number, number>();
  #begin = 0;
  #count = 0;

  constructor(max: number = HOLDS_MAX) {
    this.#max = max;
    this.#names = new Uint32Array(max);
    this.#owners = new Uint32Array(max);
    this.#holdNumbers = new Float64Array(max);
    this.#from = new Float64Array(max);
    this.#to = new Float64Array(max);
    this.#within = new Uint32Array(max);
    this.#previous = new Uint32Array(max);
    this.#ends = new Uint8Array(max);
    this.#sure = new Uint8Array(max);
  }

  /** Since when holds are remembered; `null` while there is none. */
  get since(): number | null {
    return this.#count === 0 ? null : (this.#to[this.#begin % this.#max] ?? null);
  }

  add(hold: PastHold): void {
    while (this.#count > 0 && (this.#count === this.#max || this.#texts.bytes > TEXT_BYTES_MAX))
      this.#dropFirst();
    const number = this.#begin + this.#count;
    const place = number % this.#max;
    const name = this.#texts.use(hold.name);
    this.#names[place] = name;
    const { session, holdNumber } = partsOf(hold.holder);
    this.#owners[place] = this.#texts.use(`${session}\n${hold.who}`);
    this.#holdNumbers[place] = holdNumber ?? Number.NaN;
    this.#from[place] = hold.from;
    this.#to[place] = hold.to;
    this.#within[place] = Math.max(0, Math.min(NONE, hold.withinMs));
    this.#ends[place] = ENDS.indexOf(hold.end);
    this.#sure[place] = hold.sure === 'yes' ? 1 : 0;
    const last = this.#last.get(name);
    // How far back the one before is, which stays true while the ring turns.
    this.#previous[place] = last === undefined ? 0 : number - last;
    this.#last.set(name, number);
    this.#count += 1;
  }

  #dropFirst(): void {
    const place = this.#begin % this.#max;
    const name = this.#names[place] ?? 0;
    if (this.#last.get(name) === this.#begin) this.#last.delete(name);
    this.#texts.drop(name);
    this.#texts.drop(this.#owners[place] ?? 0);
    this.#begin += 1;
    this.#count -= 1;
  }

  /** The past holds of one name, the newest first. */
  of(name: string, since: number, most: number): PastHold[] {
    const found: PastHold[] = [];
    const text = this.#texts.find(name);
    let number = text === undefined ? undefined : this.#last.get(text);
    while (number !== undefined && number >= this.#begin && found.length < most) {
      const place = number % this.#max;
      if ((this.#to[place] ?? 0) < since) break;
      const owner = this.#texts.text(this.#owners[place] ?? 0);
      const holdNumber = this.#holdNumbers[place] ?? Number.NaN;
      const session = owner.slice(0, owner.lastIndexOf('\n'));
      found.push({
        name,
        holder: Number.isNaN(holdNumber) ? session : `${session}:${holdNumber}`,
        who: owner.slice(session.length + 1),
        from: this.#from[place] ?? 0,
        to: this.#to[place] ?? 0,
        end: ENDS[this.#ends[place] ?? 0] ?? 'unknown',
        sure: this.#sure[place] === 1 ? 'yes' : 'likely',
        withinMs: this.#within[place] ?? 0,
      });
      const back = this.#previous[place] ?? 0;
      number = back === 0 ? undefined : number - back;
    }
    return found;
  }
}

/** A number as it is written in a holder: nothing that would be written differently when it is put together again. */
const HOLD_NUMBER = /^(0|[1-9]\d{0,14})$/;

/** A holder of a lock is `<session>:<number>`: a session has many holds, and its text is kept once. */
function partsOf(holder: string): { readonly session: string; readonly holdNumber: number | null } {
  const colon = holder.lastIndexOf(':');
  const tail = holder.slice(colon + 1);
  if (colon < 0 || !HOLD_NUMBER.test(tail)) return { session: holder, holdNumber: null };
  return { session: holder.slice(0, colon), holdNumber: Number(tail) };
}
