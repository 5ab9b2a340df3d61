/** What leaders and jobs tell on `node:diagnostics_channel`. The rules are those of `channels.ts`. */
import { type Channel, channel, type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import { CHANNELS } from './channels.ts';

export type LeaderEvent = 'elected' | 'lost' | 'resigned' | 'stuck';

/** A message of `holdfast:leader`. */
export interface LeaderMessage {
  readonly leader: string;
  readonly session: string;
  readonly event: LeaderEvent;
  readonly fence: number;
}

/** The context object of `holdfast:job`: one run, from its start to its record. The same object throughout. */
export interface JobTrace {
  readonly job: string;
  readonly session: string;
  /** The slot, in milliseconds since 1970. */
  readonly slot: number;
  readonly attempt: number;
  readonly fence: number;
  /** How long after its slot the run began, by the server's clock. */
  readonly lateMs: number;
  /** How the run ended, once it has. */
  result?: unknown;
  error?: unknown;
}

/** A message of `holdfast:job:skipped`: this process does not run a slot. */
export interface JobSkippedMessage {
  readonly job: string;
  readonly session: string;
  readonly slot: number;
  readonly reason: string;
}

const leaders: Channel = channel(CHANNELS.leader);
const runs: TracingChannel<object> = tracingChannel(CHANNELS.job);
const skips: Channel = channel(CHANNELS.jobSkipped);

export function tellLeader(
  leader: string,
  session: string,
  event: LeaderEvent,
  { fence }: { readonly fence: number },
): void {
  if (!leaders.hasSubscribers) return;
  const message: LeaderMessage = { leader, session, event, fence };
  leaders.publish(message);
}

/** What the work resolves to is the `result` of the trace. */
export function traceJob<Result>(context: JobTrace, work: () => Promise<Result>): Promise<Result> {
  return runs.hasSubscribers ? runs.tracePromise(work, context) : work();
}

export function tellSkipped(message: JobSkippedMessage): void {
  if (skips.hasSubscribers) skips.publish(message);
}
