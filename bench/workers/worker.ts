/**
 * The program of a worker process: opens a participant, runs jobs with it and closes it, as the messages say.
 * `worker-process.ts` starts it, built to JavaScript, and kills it when it does not reply in time.
 */
import type { OpenParticipant } from '../participants/participant.ts';
import { participantOf } from '../participants/participant-list.ts';
import { messageOf } from '../run/rounds.ts';
import { buy } from './jobs/buy.ts';
import { contend } from './jobs/contend.ts';
import { heap } from './jobs/heap.ts';
import { hold, watch } from './jobs/hold-leases.ts';
import type { Job, JobName } from './jobs/job.ts';
import { releaseTaken, take } from './jobs/take-and-release.ts';
import type { Reply, Request } from './messages.ts';

const JOBS: { readonly [Name in JobName]: Job<Name> } = {
  contend,
  take,
  release: releaseTaken,
  hold,
  watch,
  heap,
  buy,
};

let opened: OpenParticipant | null = null;
let cleanups: (() => Promise<void>)[] = [];

async function handle(request: Request): Promise<unknown> {
  switch (request.verb) {
    case 'open':
      opened = await participantOf(request.participant).open(request.port);
      return null;
    case 'run': {
      if (opened === null) throw new Error('expected an open participant');
      // `WorkerPool` typed the plan by the job's name; a message carries no types.
      const job = JOBS[request.job] as Job<JobName>;
      return job(opened, request.plan, (cleanup) => cleanups.push(cleanup));
    }
    case 'close': {
      const ending = cleanups;
      cleanups = [];
      await Promise.all(ending.map((cleanup) => cleanup()));
      await opened?.close();
      opened = null;
      return null;
    }
  }
}

// A library whose connections were dropped rejects promises that nobody awaits any more.
process.on('unhandledRejection', () => {});
process.on('disconnect', () => process.exit());
process.on('message', (request: Request) => {
  const reply = (body: Reply): void => void process.send?.(body);
  handle(request).then(
    (result) => reply({ number: request.number, result }),
    (error: unknown) => reply({ number: request.number, error: messageOf(error) }),
  );
});
process.send?.({ number: 0, result: null } satisfies Reply);
