/** The embedded node answers as a real server does, whatever is asked, and keeps the same keys. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ask } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { calledRequest, commandRequest } from './support/command-requests.ts';
import { scriptRequest } from './support/script-requests.ts';
import { ServerPair, type Step } from './support/server-pair.ts';
import { STEPS_MS } from './support/vocabulary.ts';

const RUNS = 250;
/** Others are played with `HOLDFAST_SEED`. */
const SEED = Number(process.env['HOLDFAST_SEED'] ?? 1);
const LIMIT_MS = 240_000;

const redis = useRedis();
const pass: fc.Arbitrary<Step> = fc.constantFrom(...STEPS_MS).map((passMs) => ({ passMs }));

function histories(request: fc.Arbitrary<readonly string[]>): fc.Arbitrary<Step[]> {
  const asked: fc.Arbitrary<Step> = request.map((words) => ({ ask: words }));
  const step = fc.oneof({ weight: 10, arbitrary: asked }, { weight: 1, arbitrary: pass });
  return fc.array(step, { minLength: 1, maxLength: 60, size: 'max' });
}

async function expectConformance(request: fc.Arbitrary<readonly string[]>): Promise<void> {
  const servers = new ServerPair(redis.port);
  await fc.assert(
    fc.asyncProperty(histories(request), fc.constantFrom(2 as const, 3 as const), (steps, protocol) =>
      servers.compare(steps, protocol),
    ),
    { seed: SEED, numRuns: RUNS },
  );
}

test('commands of every family answer the same', () => expectConformance(commandRequest), LIMIT_MS);

test('commands that a script calls answer the same', () => expectConformance(calledRequest), LIMIT_MS);

test(
  'all our scripts answer the same, between commands that disturb them',
  () => {
    const request = fc.oneof(
      { weight: 6, arbitrary: scriptRequest },
      { weight: 1, arbitrary: commandRequest },
    );
    return expectConformance(request);
  },
  LIMIT_MS,
);

test('the server that it is compared with is the one that it says it reproduces', async () => {
  const info = String(await ask(redis.port, ['INFO', 'server']));
  expect(info).toMatch(/redis_version:[78]\./);
});
