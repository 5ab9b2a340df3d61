/**
 * A verb is written once, as a generator that yields what is to be done next and is given the result. The asynchronous entry
 * awaits each step; the entry for SQLite, whose drivers are synchronous, runs the same steps without a promise.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export type Row = readonly unknown[] | Readonly<Record<string, unknown>>;

/** What a statement gave. */
export interface SqlResult {
  /** Objects or arrays, with the columns in the order of the statement. */
  readonly rows: readonly Row[];
  /** Affected rows. Read for MySQL and MariaDB only. */
  readonly count?: number | undefined;
  /** The insert id of the reply. Read for MySQL and MariaDB only; without it some checks take one more statement. */
  readonly insertId?: number | bigint | string | undefined;
  /** What PostgreSQL says that it did, such as COMMIT. */
  readonly command?: string | undefined;
  /** Whether a transaction was open after the statement, where the driver tells. */
  readonly inTransaction?: boolean | undefined;
}

export interface Statement {
  readonly sql: string;
  readonly params: readonly unknown[];
}

export type Step = Statement | { readonly call: () => unknown } | { readonly sleepMs: number };

export type Plan<T> = Generator<Step, T, unknown>;

/** Sends one statement. */
export function* ask(sql: string, params: readonly unknown[] = []): Plan<SqlResult> {
  // A runner answers a statement with its result.
  return (yield { sql, params }) as SqlResult;
}

/** The values of a row, whatever names or letter case a driver's options give to the columns. */
export function valuesOf(row: Row | undefined): readonly unknown[] {
  return row === undefined ? [] : Object.values(row);
}

export async function runAsync<T>(
  plan: Plan<T>,
  query: (sql: string, params: readonly unknown[]) => Promise<SqlResult>,
): Promise<T> {
  const perform = (step: Step): unknown => {
    if ('call' in step) return step.call();
    return 'sleepMs' in step ? sleep(step.sleepMs) : query(step.sql, step.params);
  };
  for (let state = plan.next(); ; ) {
    if (state.done) return state.value;
    let answer: unknown;
    try {
      answer = await perform(state.value);
    } catch (error) {
      state = plan.throw(error);
      continue;
    }
    state = plan.next(answer);
  }
}

/** Blocks the thread, like everything else that a synchronous driver does. */
function sleepSync(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

export function runSync<T>(plan: Plan<T>, query: (sql: string, params: readonly unknown[]) => SqlResult): T {
  const perform = (step: Step): unknown => {
    if ('call' in step) return step.call();
    return 'sleepMs' in step ? sleepSync(step.sleepMs) : query(step.sql, step.params);
  };
  for (let state = plan.next(); ; ) {
    if (state.done) return state.value;
    let answer: unknown;
    try {
      answer = perform(state.value);
    } catch (error) {
      state = plan.throw(error);
      continue;
    }
    state = plan.next(answer);
  }
}
