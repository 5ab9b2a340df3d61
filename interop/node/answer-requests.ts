/** A Node participant: reads requests from standard input and carries them out with one library. */
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  AnyRequest,
  ContendAnswer,
  ContendRequest,
  Exchange,
  GuardKind,
  TakeRequest,
} from '../messages.ts';
import { JournalWriter } from './journal-writer.ts';

export interface Taken {
  /** 0 for a lock without one. */
  readonly fence: number;
  free(): Promise<unknown>;
}

/** What the libraries differ in. Null when the wait is over. */
export interface Library {
  take(kind: GuardKind, name: string, limits: Pick<TakeRequest, 'waitMs' | 'leaseMs'>): Promise<Taken | null>;
}

/** Says that it is ready, and answers requests until standard input ends. */
export function answerRequests(library: Library): void {
  const participant = new RequestHandler(library);
  const say = (line: unknown): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
  const input = createInterface({ input: process.stdin });
  input.on('line', (text) => {
    // What a test says is agreed in `messages.ts`, not checked here.
    const request = JSON.parse(text) as AnyRequest & { readonly id: number };
    participant.run(request).then(
      (answer) => say({ id: request.id, ...answer }),
      (error: unknown) => say({ id: request.id, error: String(error) }),
    );
  });
  input.on('close', () => process.exit(0));
  say({ ready: true });
}

class RequestHandler {
  readonly #library: Library;
  readonly #taken = new Map<string, Taken>();
  /** Rises with each request to stop: what contends under an older number ends. */
  #stops = 0;

  constructor(library: Library) {
    this.#library = library;
  }

  run(request: AnyRequest): Promise<Exchange[keyof Exchange]['answer']> {
    switch (request.request) {
      case 'take':
        return this.#take(request);
      case 'free':
        return this.#free(request);
      case 'contend':
        return this.#contend(request);
      case 'rounds':
        return this.#rounds(request);
      case 'stop':
        this.#stops += 1;
        return Promise.resolve({ stopped: true });
    }
  }

  async #take(request: TakeRequest): Promise<Exchange['take']['answer']> {
    const { kind, name, waitMs, leaseMs, caller = 0 } = request;
    const limits = { ...(waitMs !== undefined && { waitMs }), ...(leaseMs !== undefined && { leaseMs }) };
    const fromMs = Date.now();
    const taken = await this.#library.take(kind, name, limits);
    const atMs = Date.now();
    if (taken !== null) this.#taken.set(`${caller} ${name}`, taken);
    return { taken: taken !== null, fence: taken?.fence ?? 0, fromMs, atMs };
  }

  async #free({ name, caller = 0 }: Exchange['free']['request']): Promise<Exchange['free']['answer']> {
    const key = `${caller} ${name}`;
    const taken = this.#taken.get(key);
    if (taken === undefined) throw new Error(`caller ${caller} has not taken ${name}`);
    this.#taken.delete(key);
    const fromMs = Date.now();
    await taken.free();
    return { freed: true, fromMs, atMs: Date.now() };
  }

  async #contend(request: ContendRequest): Promise<ContendAnswer> {
    const journal = new JournalWriter(request.journal, request.who);
    const stops = this.#stops;
    const endMs = performance.now() + request.durationMs;
    const isOver = (): boolean => performance.now() >= endMs || this.#stops > stops;
    const waitsMs: number[] = [];
    const caller = async (): Promise<void> => {
      while (!isOver()) waitsMs.push(await this.#turn(request, journal));
    };
    await Promise.all(Array.from({ length: request.threads }, caller));
    journal.close();
    return { turns: waitsMs.length, waitsMs };
  }

  async #turn({ kind, name, sectionMs, pauseMs }: ContendRequest, journal: JournalWriter): Promise<number> {
    const fromMs = performance.now();
    const taken = await this.#library.take(kind, name, {});
    const waitedMs = performance.now() - fromMs;
    if (taken === null) throw new Error(`${name} was not taken, and no wait was limited`);
    journal.enter(taken.fence);
    if (sectionMs > 0) await sleep(sectionMs);
    journal.leave();
    await taken.free();
    if (pauseMs > 0) await sleep(pauseMs);
    return Math.round(waitedMs * 10) / 10;
  }

  async #rounds({ kind, name, count }: Exchange['rounds']['request']): Promise<Exchange['rounds']['answer']> {
    const fromMs = performance.now();
    for (let round = 0; round < count; round += 1) await (await this.#library.take(kind, name, {}))?.free();
    return { rounds: count, tookMs: performance.now() - fromMs };
  }
}
