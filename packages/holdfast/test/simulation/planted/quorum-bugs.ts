/** Mistakes that only several nodes have room for. */
import { CallFailure } from '../../../src/index.ts';
import { Holders } from '../../../src/topologies/server/holders.ts';
import type { PlantedBug } from './bug.ts';
import { replacing } from './client-bugs.ts';
import { replace } from './code-bugs.ts';
import { luaBug } from './lua-bugs.ts';

const NODES = 3;

export const QUORUM_BUGS: readonly PlantedBug[] = [
  {
    name: 'restart guard off',
    breaks: ['exclusion', 'counter', 'fences'],
    nodes: NODES,
    options: { restartGuardMs: 0 },
    faults: ['restart with nothing'],
    terms: { leasesMs: [10_000], worksMs: [50, 700] },
  },
  {
    name: 'partial votes kept',
    breaks: ['served', 'left'],
    nodes: NODES,
    patch: () => replace(Holders.prototype, 'abandon', () => () => {}),
  },
  {
    name: 'silence counted as a vote',
    breaks: ['exclusion', 'counter', 'served', 'left'],
    nodes: NODES,
    faults: ['slow network', 'stall', 'freeze'],
    client: (client) =>
      replacing(client, {
        run: async (call, timeoutMs) => {
          const answer = await client.run(call, timeoutMs);
          return call.script.name === 'mutex.acquire' && answer instanceof CallFailure ? 1 : answer;
        },
      }),
    terms: { kind: 'mutex', leasesMs: [10_000], worksMs: [50, 700] },
  },
  luaBug(
    'fence of a majority not raised',
    ['fences'],
    [{ scripts: ['lock.raise'], from: 'if stored < last then', to: 'if false then' }],
    { nodes: NODES, faults: ['slow network', 'cut', 'freeze'], terms: { kind: 'lock', worksMs: [0, 1] } },
  ),
  luaBug(
    'common time below the counter',
    ['fences'],
    [
      {
        scripts: ['lock.acquire'],
        from: 'math.max(stored + 1, from_us)',
        to: 'from_us == common_us and from_us or math.max(stored + 1, now_us)',
      },
    ],
    { nodes: NODES, terms: { kind: 'lock', worksMs: [0, 1] } },
  ),
];
