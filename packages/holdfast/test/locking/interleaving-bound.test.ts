import { expect, test } from 'vitest';
import { rejection } from '../support/rejection.ts';
import { hangs } from './support/scripted-client.ts';
import { Stage } from './support/stage.ts';

test('a late release goes on for as long as the server may have the lock, not for the lease of the last owner', async () => {
  const stage = new Stage();
  const p = stage.process();
  stage.server.occupy('a', 100);
  const first = p.lock('a').acquire({ leaseMs: 30_000 });
  const second = p.lock('a').acquire({ leaseMs: 200 });
  await (await stage.until(first)).release(); // hands over; the server has 30 s
  const lease = await stage.until(second);
  p.client.from('any', hangs()); // a short outage
  const error = rejection(lease.release());
  await stage.clock.advance(5_000);
  await error;
  p.client.heal();
  await stage.clock.advance(5_000);
  expect(stage.server.owner('a')).toBe(null);
});
