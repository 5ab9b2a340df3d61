/**
 * What is known of one of several servers.
 *
 * - `new`: never asked. Out: `joining`.
 * - `joining`: asked who it is and how long it runs; its vote does not count before that. Out: `up`, `down`.
 * - `up`: may vote, unless it has restarted too recently (the guard). Out: `joining` when its connection is another
 *   than the one it was asked on, because it may have restarted in between; `down` when a call gets no answer.
 * - `down`: skipped, so that it costs its callers nothing. Asked again, in the background, by whoever uses the lock
 *   next, at a growing pace. Out: `joining`.
 */
import type { ServerFailure } from '../errors.ts';

/** `failure` is why it was down; without one, its callers wait for it. */
export interface Joining {
  readonly is: 'joining';
  readonly joined: Promise<void>;
  readonly failure: ServerFailure | null;
}

export type Standing =
  | { readonly is: 'new' }
  | Joining
  | { readonly is: 'up'; readonly connections: number; readonly startedMs: number; readonly runId: string }
  | { readonly is: 'down'; readonly failure: ServerFailure; readonly askAtMs: number };
