/**
 * A process that plays for contestants, told what to do by messages: open one, do a job, close. It is started by
 * `team.ts` and killed by it when it does not answer.
 */
import type { Contestant } from './contestant.ts';
import { buy } from './jobs/buy.ts';
import { contend } from './jobs/contend.ts';
import { heap } from './jobs/heap.ts';
import { hold, watch } from './jobs/hold.ts';
import type { Aftermath, Job, JobName } from './jobs/job.ts';
import { seize, yieldKey } from './jobs/seize.ts';
import type { Answer, Order } from './orders.ts';
import { entrantOf } from './roster.ts';
import { messageOf } from './rounds.ts';

const JOBS: { readonly [Name in JobName]: Job<Name> } = {
  contend,
  seize,
  yield: yieldKey,
  hold,
  watch,
  heap,
  buy,
};

let contestant: Contestant | null = null;
let aftermaths: Aftermath[] = [];

async function obey(order: Order): Promise<unknown> {
  switch (order.verb) {
    case 'open':
      contestant = await entrantOf(order.entrant).open(order.port);
      return null;
    case 'play': {
      if (contestant === null) throw new Error('expected an open contestant');
      // The plan was typed with its job where the order was made; the message has lost the connection.
      const job = JOBS[order.job] as Job<JobName>;
      return job(contestant, order.plan, (aftermath) => aftermaths.push(aftermath));
    }
    case 'close': {
      const ending = aftermaths;
      aftermaths = [];
      await Promise.all(ending.map((each) => each.end()));
      await contestant?.close();
      contestant = null;
      return null;
    }
  }
}

// Libraries whose connections are dropped reject promises that nobody holds any more.
process.on('unhandledRejection', () => {});
process.on('disconnect', () => process.exit());
process.on('message', (order: Order) => {
  const answer = (answer: Answer): void => void process.send?.(answer);
  obey(order).then(
    (result) => answer({ number: order.number, result }),
    (error: unknown) => answer({ number: order.number, error: messageOf(error) }),
  );
});
process.send?.({ number: 0, result: null } satisfies Answer);
