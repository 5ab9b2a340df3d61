/** Promises that a test expects to fail, and those whose failure is somebody else's to tell. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inspect } from 'node:util';

/** What a promise rejects with; attached at once, so that nobody finds it unhandled. A promise that resolves is an error. */
export function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => Promise.reject(new Error(`expected a rejection, got ${inspect(value)}`)),
    (error: unknown) => error,
  );
}

/** A test that fails half-way leaves promises that nobody awaits; their rejections are not another failure. */
export function handled<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => {});
  return promise;
}

/**
 * The promise's result, or `still pending` when it has none by the next turn of the event loop. Nothing from the network
 * that is not here yet can come within one turn.
 */
export function atOnce(promise: Promise<unknown>): Promise<unknown> {
  return Promise.race([promise, nextTurn('still pending')]);
}
