/**
 * Reads the locks of one primary at a bounded pace: `look` at all known names in turn, more often at those about to expire or
 * open on a page (the fast lane), and `survey` to find new ones. See docs/operate/monitoring.md for the paces.
 */

import { pause, repeat, Stretch } from '../pace.ts';
import { isForbidden } from '../servers/server-connection.ts';
import type { ServerWatch } from '../servers/server-watch.ts';
import type { KnownNames } from './known-names.ts';
import { readLook, readSurvey } from './sample.ts';
import { LOOK, LOOK_NAMES_MAX, SURVEY, SURVEY_COUNT } from './scripts.ts';

/** All known names are looked at once in this time; in longer when that would be more than NAMES_PER_SECOND. */
const LOOK_EVERY_MS = 1_000;
const NAMES_PER_SECOND = 5_000;

const FAST_EVERY_MS = 250;
const FAST_NAMES_MAX = 100;

/** 25 calls a second while a pass is under way. */
const SURVEY_EVERY_MS = 40;
/** Between two passes: four times what a pass took, so that a small server is surveyed often and a large one rarely. */
const SURVEY_PAUSE_SHARE = 4;
const SURVEY_PAUSE_MS_MIN = 1_000;
const SURVEY_PAUSE_MS_MAX = 10_000;

/** After a failure, before the server is asked again. */
const FAILED_PAUSE_MS = 500;

export interface LaneTerms {
  /** What SCAN is given: the prefix and `*`, escaped. */
  readonly pattern: string;
  /** Whether a string of others under a key is shown as a mutex now; `null`: none is. */
  readonly isMutex: () => ((key: string) => boolean) | null;
  /** 1, or less for a smaller budget. */
  readonly budget: number;
  readonly now: () => number;
  /** Names whose page is open. */
  readonly open: () => Iterable<string>;
  /** Called after a look, with the names that were looked at. */
  readonly looked: (lane: Lane, names: readonly string[]) => void;
}

export interface SurveyProgress {
  readonly passedAt: number | null;
  readonly keys: number;
  readonly tookMs: number | null;
  readonly keysNow: number;
  /** Names that were found and had no room: in the last pass, or already more in this one. */
  readonly leftOut: number;
}

export class Lane {
  readonly watch: ServerWatch;
  readonly known: KnownNames;
  readonly stretch: Stretch = new Stretch();
  /** When all known names had last been looked at, by our clock. */
  lookedAt: number | null = null;
  /** Whether all locks have been looked at that were there when the lane began. */
  hasSeenAll = false;
  survey: SurveyProgress = { passedAt: null, keys: 0, tookMs: null, keysNow: 0, leftOut: 0 };
  readonly #terms: LaneTerms;
  readonly #stop = new AbortController();

  constructor(watch: ServerWatch, known: KnownNames, terms: LaneTerms) {
    this.watch = watch;
    this.known = known;
    this.#terms = terms;
  }

  start(): void {
    const { signal } = this.#stop;
    void this.#lookAround(signal);
    void this.#surveyAround(signal);
    void repeat(
      () => FAST_EVERY_MS * this.#slower,
      () => this.#lookFast(),
      signal,
    );
  }

  close(): void {
    this.#stop.abort();
  }

  get #slower(): number {
    return this.stretch.factor / this.#terms.budget;
  }

  /** Looks at all known names, round after round. */
  async #lookAround(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const isSurveyed = this.survey.passedAt !== null;
      const names = this.known.names();
      const beganMs = performance.now();
      const roundMs = Math.max(LOOK_EVERY_MS, (names.length / NAMES_PER_SECOND) * 1_000) * this.#slower;
      const chunks = Math.ceil(names.length / LOOK_NAMES_MAX);
      let isWhole = this.watch.connection.isOpen;
      for (let i = 0; i < chunks && !signal.aborted; i += 1) {
        const some = names.slice(i * LOOK_NAMES_MAX, (i + 1) * LOOK_NAMES_MAX);
        if (!(await this.look(some))) {
          isWhole = false;
          break;
        }
        // Spread over the round, so that the server has the same to do at any time.
        await pause(beganMs + (roundMs * (i + 1)) / chunks - performance.now(), signal);
      }
      if (isWhole && (chunks > 0 || this.survey.passedAt !== null)) this.lookedAt = this.#terms.now();
      this.hasSeenAll ||= isWhole && isSurveyed;
      this.known.dropOld(this.#terms.now());
      const restMs = isWhole ? beganMs + roundMs - performance.now() : FAILED_PAUSE_MS;
      await pause(Math.max(restMs, roundMs / 10), signal);
    }
  }

  async #lookFast(): Promise<void> {
    const names = new Set<string>();
    for (const name of this.#terms.open()) names.add(name);
    for (const name of this.known.urgent(FAST_NAMES_MAX)) names.add(name);
    const some = [...names].slice(0, FAST_NAMES_MAX);
    if (some.length > 0) await this.look(some);
  }

  /** False when the server did not answer. */
  async look(keys: readonly string[]): Promise<boolean> {
    const sentAt = this.#terms.now();
    try {
      const reply = readLook(await this.watch.connection.run(LOOK, keys), keys);
      this.#took(sentAt);
      for (const sample of reply.samples) this.known.see(sample, reply.serverMs, sentAt);
      this.#terms.looked(this, keys);
      return true;
    } catch (error) {
      this.#failed(error, 'look');
      return false;
    }
  }

  async #surveyAround(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const beganMs = performance.now();
      const isDone = await this.#surveyOnce(signal);
      const tookMs = performance.now() - beganMs;
      const restMs = Math.min(
        SURVEY_PAUSE_MS_MAX,
        Math.max(SURVEY_PAUSE_MS_MIN, tookMs * SURVEY_PAUSE_SHARE),
      );
      await pause(isDone ? restMs * this.#slower : FAILED_PAUSE_MS, signal);
    }
  }

  async #surveyOnce(signal: AbortSignal): Promise<boolean> {
    const { pattern, isMutex, now } = this.#terms;
    const beganAt = now();
    let cursor = '0';
    let keys = 0;
    let leftOut = 0;
    do {
      const stepMs = performance.now();
      const sentAt = now();
      try {
        const wantsStrings = isMutex() !== null;
        const args = [cursor, pattern, SURVEY_COUNT, wantsStrings ? '1' : '0'];
        const page = readSurvey(await this.watch.connection.run(SURVEY, args));
        this.#took(sentAt);
        cursor = page.cursor;
        keys += page.keys;
        for (const name of page.names) if (!this.known.add(name, sentAt)) leftOut += 1;
        // Asked anew: the patterns may have changed while the server answered.
        const fits = isMutex();
        for (const name of page.strings)
          if (fits?.(name) === true && !this.known.add(name, sentAt, 'foreign')) leftOut += 1;
      } catch (error) {
        this.#failed(error, 'survey');
        return false;
      }
      this.survey = { ...this.survey, keysNow: keys, leftOut: Math.max(this.survey.leftOut, leftOut) };
      if (cursor !== '0') await pause(stepMs + SURVEY_EVERY_MS * this.#slower - performance.now(), signal);
    } while (cursor !== '0' && !signal.aborted);
    this.survey = { passedAt: now(), keys, tookMs: now() - beganAt, keysNow: 0, leftOut };
    return true;
  }

  #took(sentAt: number): void {
    this.stretch.took(this.#terms.now() - sentAt - (this.watch.roundTrips.quantile(0.9) ?? 0));
  }

  #failed(error: unknown, what: string): void {
    if (isForbidden(error)) this.watch.forbidden.add(what);
    else this.watch.report(error);
    // A server that became a replica still answers reads, and its times to live lie.
  }
}
