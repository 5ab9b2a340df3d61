/** A process of any language that answers the requests of a test. */
import { join } from 'node:path';
import {
  type Child,
  startChild,
  startProgram,
} from '../../packages/holdfast/test/support/processes/child.ts';
import type { Exchange, GuardKind } from '../messages.ts';
import { redisPyCommand, redissonCommand, redsyncCommand } from './programs.ts';

/** A Java process takes seconds to start on a busy machine. */
const START_LIMIT_MS = 120_000;
/** Beyond the time that a request itself allows. */
const ANSWER_LIMIT_MS = 60_000;
/** Takes of which a participant has had enough to be as quick as it will be: Java compiles what is used often. */
const WARM_UP_ROUNDS = 300;

const NODE = join(import.meta.dirname, '../node');

interface Line {
  readonly id?: number;
  readonly ready?: true;
  readonly error?: string;
}

export class Participant {
  /** Its name in journals and figures. */
  readonly who: string;
  readonly #child: Child<Line>;
  #requests = 0;

  constructor(who: string, child: Child<Line>) {
    this.who = who;
    this.#child = child;
  }

  async ready(): Promise<this> {
    await this.#child.next(({ ready }) => ready === true, START_LIMIT_MS);
    return this;
  }

  /** Sends a request; resolves with its answer. */
  async request<Name extends keyof Exchange>(
    request: Name,
    fields: Omit<Exchange[Name]['request'], 'request'>,
    limitMs = ANSWER_LIMIT_MS,
  ): Promise<Exchange[Name]['answer']> {
    this.#requests += 1;
    const id = this.#requests;
    this.#child.send({ id, request, ...fields });
    const line = await this.#child.next((answer) => answer.id === id, limitMs);
    if (line.error !== undefined) throw new Error(`${this.who} failed to ${request}: ${line.error}`);
    // What a participant answers is agreed in `messages.ts`, not checked here.
    return line as unknown as Exchange[Name]['answer'];
  }

  async warmUp(kind: GuardKind): Promise<this> {
    const name = `warm-up-${this.who}`;
    await this.request('rounds', { kind, name, count: WARM_UP_ROUNDS });
    return this;
  }

  async end(): Promise<void> {
    this.#child.endInput();
    await this.#child.exited;
  }
}

const node = (file: string, who: string, port: number): Promise<Participant> =>
  new Participant(who, startChild<Line>(join(NODE, file), [String(port)])).ready();

const program = (command: readonly string[], who: string, port: number): Promise<Participant> =>
  new Participant(who, startProgram<Line>([...command, String(port)])).ready();

export const startHoldfast = (port: number, who: string): Promise<Participant> =>
  node('holdfast.ts', who, port);

export const startRedlock = (port: number, who: string): Promise<Participant> =>
  node('redlock.ts', who, port);

export const startRedisson = (port: number, who: string): Promise<Participant> =>
  program(redissonCommand(), who, port);

export const startRedsync = (port: number, who: string): Promise<Participant> =>
  program(redsyncCommand(), who, port);

export const startRedisPy = (port: number, who: string): Promise<Participant> =>
  program(redisPyCommand(), who, port);

/** Several holdfast processes, named `node-1` and so on. */
export function startHoldfasts(port: number, count: number): Promise<Participant[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => startHoldfast(port, `node-${index + 1}`)));
}

export async function endAll(participants: readonly Participant[]): Promise<void> {
  await Promise.all(participants.map((participant) => participant.end()));
}
