/** Many processes with one name, and a child that would notice if two of them ran at once. */
import { expect, test } from 'vitest';
import { useLeakCheck } from '../../holdfast/test/support/leak-check.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { type Ran, start } from './support/holdfast.ts';
import { useTraces } from './support/job.ts';

const PROCESSES = 20;
const LIMIT_MS = 600_000;
/** What a command exits with that could not reach its server. */
const UNAVAILABLE = 69;

const redis = useRedis();
useLeakCheck(redis);
const makeTraces = useTraces();

/** A folder can be made once: whoever finds it there is not alone. */
const ALONE =
  'mkdir here || echo overlap >> overlaps; sleep 0.02; rmdir here; echo $HOLDFAST_FENCE >> fences';

test('20 processes at once run one after the other, with fences that grow', {
  timeout: LIMIT_MS,
}, async () => {
  const traces = makeTraces();
  const one = async (): Promise<Ran> => {
    for (;;) {
      const args = ['run', '--quiet', '--redis', redis.url, 'job', '--', 'sh', '-c', ALONE];
      const ran = await start(args, { cwd: traces.folder }).ended;
      // Twenty that start at once on a busy machine take longer to connect than one may: whoever comes again is served.
      if (ran.code !== UNAVAILABLE) return ran;
    }
  };
  const crowd = await Promise.all(Array.from({ length: PROCESSES }, one));
  for (const ran of crowd) expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(traces.lines('overlaps')).toEqual([]);
  const fences = traces.lines('fences').map(Number);
  expect(fences).toHaveLength(PROCESSES);
  expect(fences).toEqual(fences.toSorted((a, b) => a - b));
});
