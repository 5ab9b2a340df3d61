/** The messages between a team and its players. */
import type { JobName, Jobs } from './jobs/job.ts';

export type Order = { readonly number: number } & (
  | { readonly verb: 'open'; readonly entrant: string; readonly port: number }
  | { readonly verb: 'play'; readonly job: JobName; readonly plan: Jobs[JobName]['plan'] }
  | { readonly verb: 'close' }
);

/** Answers the order of that number; 0 says that the player is ready. */
export interface Answer {
  readonly number: number;
  readonly result?: unknown;
  readonly error?: string;
}

type Without<Type, Key extends string> = Type extends unknown ? Omit<Type, Key> : never;
export type OrderBody = Without<Order, 'number'>;
