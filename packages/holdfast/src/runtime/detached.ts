/**
 * Runs a function in no caller's async context. Long-lived work of ours (waiting for everybody, renewing) is
 * started by some caller; without this it would carry that caller's AsyncLocalStorage along for ever.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

export const detached: <Result>(work: () => Result) => Result = AsyncLocalStorage.snapshot();
