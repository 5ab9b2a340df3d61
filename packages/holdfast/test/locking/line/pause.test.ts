/** Who asks first after a release: the line where there is one; otherwise this process lets others come first. */
import { describe, expect, test } from 'vitest';
import { Session } from '../../../src/locking/session.ts';
import { Pause } from '../../../src/locking/waiting/pause.ts';
import { resolveAcquireOptions } from '../../../src/options/acquire-options.ts';
import type { Mailbox } from '../../../src/topologies/topology.ts';
import { MAILBOX, protocolWith, ScriptedTopology } from '../support/scripted-topology.ts';

/** A pause where the servers' time is not known, and its clock. */
function setUp() {
  const topology = new ScriptedTopology();
  const { clock, timers, options } = topology;
  return { clock, pause: new Pause({ topology, timers, options }) };
}

describe('a pause', () => {
  test('doubles from 2 ms to 100 ms with each release in a row that others heard', () => {
    const { pause } = setUp();
    expect(pause.leftMs).toBe(0);
    const pauses = Array.from({ length: 8 }, () => {
      pause.begin(0);
      return pause.leftMs;
    });
    expect(pauses).toEqual([2, 4, 8, 16, 32, 64, 100, 100]);
  });

  test('falls back to 2 ms once somebody else was seen to have the lock', () => {
    const { pause } = setUp();
    for (let i = 0; i < 5; i += 1) pause.begin(0);
    pause.reset();
    pause.begin(0);
    expect(pause.leftMs).toBe(2);
  });

  test('is over when its time has passed', () => {
    const { clock, pause } = setUp();
    pause.begin(0);
    clock.advanceSync(2);
    expect(pause.leftMs).toBe(0);
  });
});

/** After how long a process asks again for a caller who waits behind a release that others heard. */
async function askedAgainAfter(mailbox: Mailbox | null, receivers: number): Promise<number> {
  const topology = new ScriptedTopology();
  const { clock, timers, options } = topology;
  Object.assign(options, { handovers: 0 });
  topology.mailbox = mailbox;
  topology.release = async () => ({ is: 'released', receivers });
  const session = new Session({ id: 's', topology, timers, options, record: null });
  const entrance = session.entrance(protocolWith({ handoversMax: 0 }));
  const enter = () => entrance.enter(resolveAcquireOptions({}, options, false), clock.monotonicMs());
  const first = await enter();
  const second = enter();
  const releasedMs = clock.monotonicMs();
  await first?.release();
  for (let i = 0; i < 10 && topology.asked.length < 2; i += 1) await clock.advance(1);
  const askedMs = clock.monotonicMs();
  await (await second)?.release();
  return askedMs - releasedMs;
}

describe('after a release that other processes heard', () => {
  test('a process without a line lets them ask first', async () => {
    expect(await askedAgainAfter(null, 1)).toBe(2);
  });

  test('a process without a line asks at once if nobody heard', async () => {
    expect(await askedAgainAfter(null, 0)).toBe(0);
  });

  test('a process with a line asks at once: the line says who comes first', async () => {
    expect(await askedAgainAfter(MAILBOX, 1)).toBe(0);
  });
});
