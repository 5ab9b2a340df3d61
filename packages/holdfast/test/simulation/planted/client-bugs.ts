/** Mistakes around the client: what it tells, and what it forgets. */
import { CallFailure, type Client } from '../../../src/index.ts';
import type { PlantedBug } from './bug.ts';

export function replacing(client: Client, parts: Partial<Pick<Client, 'run' | 'listen'>>): Client {
  return new Proxy(client, {
    get: (target, property) => {
      const part: unknown = Reflect.get(parts, property);
      if (part !== undefined) return part;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

export const CLIENT_BUGS: readonly PlantedBug[] = [
  {
    name: 'no answer taken for no effect',
    breaks: ['left', 'exclusion', 'served'],
    faults: ['slow network', 'cut'],
    terms: {
      kind: 'lock',
      leasesMs: [30_000],
      worksMs: [0, 1],
      pausesMs: [0, 1, 5],
      hasSubscriber: false,
      rounds: 20,
    },
    client: (client) =>
      replacing(client, {
        run: async (call, timeoutMs) => {
          const answer = await client.run(call, timeoutMs);
          const isLost = answer instanceof CallFailure && answer.kind === 'unknown';
          return isLost ? new CallFailure('unreachable', answer.text) : answer;
        },
      }),
  },
  {
    name: 'subscription confirmed too early',
    breaks: ['served', 'left'],
    faults: [],
    // The first wait of a process is the one that subscribes: it comes when nothing else is wrong.
    terms: {
      names: ['a'],
      leasesMs: [10_000],
      worksMs: [5, 100],
      pausesMs: [0, 1, 5],
      rounds: 0,
      processes: 2,
      callers: 1,
      lingersMs: [0],
      callerLingersMs: [null],
    },
    client: (client, machine) =>
      replacing(client, {
        listen: async (channel, wake, timeoutMs) => {
          let stop = (): void => {};
          let isStopped = false;
          machine.startTimer(200, () => {
            void client.listen(channel, wake, timeoutMs).then((real) => {
              if (real instanceof CallFailure) return;
              if (isStopped) real();
              else stop = real;
            });
          });
          return () => {
            isStopped = true;
            stop();
          };
        },
      }),
  },
  {
    name: 'subscription never ended',
    breaks: ['left'],
    client: (client) =>
      replacing(client, {
        listen: async (channel, wake, timeoutMs) => {
          const stop = await client.listen(channel, wake, timeoutMs);
          return stop instanceof CallFailure ? stop : () => {};
        },
        // Closing the connection would end it for the node: that is left to the bug's own world.
      }),
  },
  {
    name: 'renewal answered by hope',
    breaks: ['exclusion', 'counter'],
    client: (client) =>
      replacing(client, {
        run: async (call, timeoutMs) => {
          const answer = await client.run(call, timeoutMs);
          if (!call.script.name.endsWith('.renew') || !(answer instanceof CallFailure)) return answer;
          // Of a lock the counter of fences goes beside each name.
          const each = call.script.name === 'lock.renew' ? 2 : 1;
          return Array.from({ length: call.keys.length / each }, () => 7);
        },
      }),
  },
];
