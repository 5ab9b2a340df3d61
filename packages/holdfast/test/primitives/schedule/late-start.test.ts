/** A start that arrives after its process has been told something else: nobody would run it, so it is taken back. */
import { expect, test } from 'vitest';
import { gate } from '../../support/gate.ts';
import { handled, rejection } from '../../support/rejection.ts';
import { useScene } from '../once/scene.ts';

const scene = useScene();

test('a start that was answered by its repeat and arrives late leaves no run behind', async () => {
  const { clock, node } = scene();
  const earlier = gate();
  const running = handled(
    scene()
      .process()
      .runJob('report', () => earlier.opened),
  );
  await clock.advance(100);
  const { locks, calls } = scene().watchedProcess();
  // A server that has answered once is asked again.
  expect(await locks.once('warm', () => 1)).toBe(1);
  calls.lose('job.start', 'request late');
  const refused = rejection(locks.runJob('report', () => expect.unreachable('the job is busy')));
  await clock.advance(300);
  expect(await refused).toMatchObject({ code: 'ELOCKTIMEOUT' });
  earlier.open();
  await clock.advance(100);
  expect(await running).toMatchObject({ ran: true });
  await calls.deliver();
  await clock.advance(5_000);
  expect(await node.command('EXISTS', 'holdfast_job_lock:{report}')).toBe(0);
  expect(
    await scene()
      .process()
      .runJob('report', () => {}),
  ).toMatchObject({ ran: true });
});
