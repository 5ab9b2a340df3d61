/** Many processes with one name, and a child that would notice if two of them ran at once. */
import { expect, test } from 'vitest';
import { useLeakCheck } from '../../holdfast/test/support/leak-check.ts';
import { useRedis } from '../../holdfast/test/support/redis-server.ts';
import { start } from './support/holdfast.ts';
import { useTraces } from './support/job.ts';

const PROCESSES = 20;
const LIMIT_MS = 180_000;

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
  const crowd = Array.from({ length: PROCESSES }, () =>
    start(['run', '--quiet', '--redis', redis.url, 'job', '--', 'sh', '-c', ALONE], { cwd: traces.folder }),
  );
  for (const { ended } of crowd) expect(await ended).toMatchObject({ code: 0, stderr: '' });
  expect(traces.lines('overlaps')).toEqual([]);
  const fences = traces.lines('fences').map(Number);
  expect(fences).toHaveLength(PROCESSES);
  expect(fences).toEqual(fences.toSorted((a, b) => a - b));
});
