/** The messages between the worker pool and a worker process. */
import type { JobName, Jobs } from './jobs/job.ts';

export type Request = { readonly number: number } & (
  | { readonly verb: 'open'; readonly participant: string; readonly port: number }
  | { readonly verb: 'run'; readonly job: JobName; readonly plan: Jobs[JobName]['plan'] }
  | { readonly verb: 'close' }
);

/** The reply to the request of the same number. Number 0, sent unasked, says that the worker is ready. */
export interface Reply {
  readonly number: number;
  readonly result?: unknown;
  readonly error?: string;
}

type Without<Type, Key extends string> = Type extends unknown ? Omit<Type, Key> : never;
export type RequestBody = Without<Request, 'number'>;
