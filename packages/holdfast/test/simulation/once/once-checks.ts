/**
 * The rules of `once`, looked at where the node runs a script and where a caller hears of it:
 *
 * - one result: while the node keeps its data, all callers of a key get the same.
 * - attempts: each start is one attempt more than the record had, and has a larger fence; a repeat of a start gets the
 *   same again; no two bodies run for the same attempt.
 * - stored: who is told that its result is stored finds it in the record.
 */
import type { CallFailure, Reply, ScriptCall } from '../../../src/index.ts';
import { onceLockKey, onceRecordKey } from '../../../src/keys/derived.ts';
import { OUTCOMES } from '../../../src/scripts/outcome.ts';
import type { Judge } from '../checks/judge.ts';
import type { SimulatedNode } from '../world/simulated-node.ts';

interface OnceRecord {
  readonly state: string;
  readonly owner: string;
  readonly attempt: number;
  readonly fence: number;
  readonly payload: string;
}

/** Where the arguments of a script stand. */
const BEGIN_HOLDER = 0;
const RELEASE_HOLDER = 0;
const RELEASE_HAS_RUN = 1;
const FINISH_STATE = 4;
const FINISH_PAYLOAD = 6;

export class OnceChecks {
  readonly #judge: Judge;
  readonly #results = new Map<string, unknown>();
  readonly #runs = new Map<string, Set<number>>();
  readonly #fences = new Map<string, number>();
  /** How many runs of a key have started, less those that were taken back. By its lock. */
  readonly #attempts = new Map<string, number>();
  /** The record as it was when the script that runs now arrived. */
  #before: OnceRecord | null = null;
  /** The node has lost data or time: what came before says nothing any more. */
  isDisturbed = false;
  runs = 0;

  constructor(judge: Judge) {
    this.#judge = judge;
  }

  arrived(node: SimulatedNode, call: ScriptCall): void {
    this.#before = recordOf(node, call);
  }

  served(node: SimulatedNode, call: ScriptCall, answer: Reply | CallFailure): void {
    if (!Array.isArray(answer)) return;
    const [outcome] = answer;
    if (call.script.name === 'once.begin' && outcome === OUTCOMES.STARTED) this.#started(call, answer);
    if (call.script.name === 'once.release' && outcome === OUTCOMES.RELEASED) this.#released(call);
    if (call.script.name === 'once.finish' && outcome === OUTCOMES.STORED) this.#stored(node, call);
  }

  #started(call: ScriptCall, answer: readonly (string | number | null)[]): void {
    const [, , fence, attempt] = answer;
    const before = this.#before;
    const key = call.keys[0] ?? '';
    if (before?.state === 'running' && before.owner === call.args[BEGIN_HOLDER]) {
      if (attempt !== before.attempt || fence !== before.fence)
        this.#judge.condemn(
          'attempts',
          `a repeated start of ${key} is attempt ${attempt}, was ${before.attempt}`,
        );
      return;
    }
    const known = this.isDisturbed ? before?.attempt : this.#attempts.get(key);
    const expected = (known ?? 0) + 1;
    this.#attempts.set(key, Number(attempt));
    if (attempt !== expected)
      this.#judge.condemn('attempts', `a start of ${key} is attempt ${attempt}, expected ${expected}`);
    const last = this.#fences.get(key) ?? 0;
    if (Number(fence) <= last && !this.isDisturbed)
      this.#judge.condemn('attempts', `a start of ${key} has the fence ${fence} after ${last}`);
    this.#fences.set(key, Number(fence));
  }

  /** Nobody was told of the start: it is taken back. */
  #released({ keys, args }: ScriptCall): void {
    const [lock = ''] = keys;
    const isOurs = this.#before?.state === 'running' && this.#before.owner === args[RELEASE_HOLDER];
    if (isOurs && args[RELEASE_HAS_RUN] === '0')
      this.#attempts.set(lock, (this.#attempts.get(lock) ?? 1) - 1);
  }

  #stored(node: SimulatedNode, call: ScriptCall): void {
    const record = recordOf(node, call);
    const [state, payload] = [call.args[FINISH_STATE], call.args[FINISH_PAYLOAD]];
    // A run that threw leaves nothing that anybody reads; its record may be of a later attempt by now.
    if (state === 'idle') return;
    if (record?.state !== state || record?.payload !== payload)
      this.#judge.condemn('stored', `${call.keys[1]} is ${record?.state} after ${state} was stored`);
  }

  /** A body begins. */
  ran(key: string, attempt: number): void {
    this.runs += 1;
    const known = this.#runs.get(key) ?? new Set();
    this.#runs.set(key, known);
    if (known.has(attempt) && !this.isDisturbed)
      this.#judge.condemn('attempts', `two bodies ran for attempt ${attempt} of ${key}`);
    known.add(attempt);
  }

  /** A caller has its result. */
  resolved(node: SimulatedNode, key: string, result: unknown): void {
    if (this.isDisturbed) return;
    if (this.#results.has(key) && this.#results.get(key) !== result)
      this.#judge.condemn('one result', `${key} gave ${this.#results.get(key)} and then ${result}`);
    this.#results.set(key, result);
    const record = readRecord(node, onceRecordKey(key));
    if (record?.state !== 'done' || record.payload !== `j${JSON.stringify(result)}`)
      this.#judge.condemn('stored', `${key} gave ${result}, and its record is ${record?.state}`);
  }
}

export const lockKeys = (keys: readonly string[]): string[] => keys.map(onceLockKey);
export const recordKeys = (keys: readonly string[]): string[] => keys.map(onceRecordKey);

/** Of the call of a script of `once`, whose last key is the record. */
function recordOf(node: SimulatedNode, { script, keys }: ScriptCall): OnceRecord | null {
  return script.name.startsWith('once.') ? readRecord(node, keys.at(-1) ?? '') : null;
}

function readRecord(node: SimulatedNode, key: string): OnceRecord | null {
  node.state.tick();
  const value = node.state.databases[0]?.entry(key)?.value;
  if (value?.type !== 'hash') return null;
  const field = (name: string): string => value.fields.get(name) ?? '';
  return {
    state: field('state'),
    owner: field('owner'),
    attempt: Number(field('attempt')),
    fence: Number(field('fence')),
    payload: field('payload'),
  };
}
