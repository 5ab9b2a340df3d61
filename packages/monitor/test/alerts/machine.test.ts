/** The state machine on a clock of the test's own: when an alert fires, ends, and who is told. */
import { describe, expect, test } from 'vitest';
import { fingerprintOf } from '../../src/alerts/machine/alert.ts';
import type { Mute } from '../../src/alerts/machine/mute.ts';
import { MachineRun, SERVER, sees, seesAll, settingsWith } from './support/machine.ts';

/** Fires at once, ends after ten seconds, is told at once. */
const QUICK = { ...settingsWith({ 'memory-high': { forMs: 0, keepForMs: 10_000 } }), groupMs: 0 };

function states(run: MachineRun): string[] {
  return run.alerts.map(({ rule, state, level }) => `${rule} ${state} ${level}`);
}

function mute(run: MachineRun, kind: Mute['kind'], seconds: number, match: Mute['match']): void {
  run.mutes.push({
    id: `${run.mutes.length}`,
    kind,
    match,
    by: 'ada',
    reason: 'known',
    atMs: run.nowMs,
    untilMs: run.nowMs + seconds * 1_000,
  });
}

describe('when an alert fires', () => {
  test('only after the condition was true for as long as the rule asks', () => {
    const run = new MachineRun();
    expect(run.see(120, sees('memory-high', 0.85))).toEqual([]);
    expect(states(run)).toEqual(['memory-high pending warning']);
    expect(run.see(6, sees('memory-high', 0.85))).toEqual([`firing memory-high ${SERVER} warning`]);
  });

  test('a moment of calm begins the time anew', () => {
    const run = new MachineRun();
    run.see(119, sees('memory-high', 0.85));
    run.see(1, sees('memory-high', 0.79));
    expect(states(run)).toEqual([]);
    run.see(119, sees('memory-high', 0.85));
    expect(states(run)).toEqual(['memory-high pending warning']);
  });

  test('the time goes on after a takeover', () => {
    const run = new MachineRun();
    run.see(100, sees('memory-high', 0.85));
    run.reload();
    run.see(21, sees('memory-high', 0.85));
    expect(states(run)).toEqual(['memory-high firing warning']);
  });

  test('each time under a new incident', () => {
    const run = new MachineRun(QUICK);
    run.see(1, sees('memory-high', 0.85));
    const [first] = run.alerts;
    run.see(12, sees('memory-high', 0.1));
    run.see(1, sees('memory-high', 0.85));
    const [second] = run.alerts;
    expect(first?.incident).toBe(`${fingerprintOf('shop', 'memory-high', SERVER)}.1`);
    expect(second?.incident).toBe(`${fingerprintOf('shop', 'memory-high', SERVER)}.2`);
  });

  test('a threshold that is met exactly is enough only where the rule says so', () => {
    const run = new MachineRun(QUICK);
    run.see(1, sees('memory-high', 0.8), sees('leases-expired', 1, 'shop', null));
    expect(states(run)).toEqual(['leases-expired firing warning']);
  });
});

describe('when an alert ends', () => {
  test('only after all was well for as long as the rule asks', () => {
    const run = new MachineRun(QUICK);
    run.see(1, sees('memory-high', 0.85));
    expect(run.see(10, sees('memory-high', 0.1))).toEqual([]);
    expect(run.see(1, sees('memory-high', 0.1))).toEqual([`resolved memory-high ${SERVER} warning`]);
  });

  test('not before the value is below nine tenths of the threshold', () => {
    const run = new MachineRun(QUICK);
    run.see(1, sees('memory-high', 0.85));
    expect(run.see(60, sees('memory-high', 0.75))).toEqual([]);
    expect(states(run)).toEqual(['memory-high firing warning']);
    expect(run.see(11, sees('memory-high', 0.71))).toEqual([`resolved memory-high ${SERVER} warning`]);
  });

  test('a subject that is gone is well', () => {
    const run = new MachineRun(QUICK);
    run.see(1, sees('memory-high', 0.85));
    expect(run.see(11, seesAll('memory-high', []))).toEqual([`resolved memory-high ${SERVER} warning`]);
  });

  test('a rule that is switched off ends its alerts', () => {
    const run = new MachineRun(QUICK);
    run.see(1, sees('memory-high', 0.85));
    run.use({ ...settingsWith({ 'memory-high': { isOff: true, keepForMs: 0 } }), groupMs: 0 });
    expect(run.see(1, sees('memory-high', 0.85))).toEqual([`resolved memory-high ${SERVER} warning`]);
  });

  test('it is forgotten after five minutes', () => {
    const run = new MachineRun(QUICK);
    run.see(1, sees('memory-high', 0.85));
    run.see(11, sees('memory-high', 0.1));
    expect(states(run)).toEqual(['memory-high resolved warning']);
    run.see(300, sees('memory-high', 0.1));
    expect(states(run)).toEqual([]);
  });

  test('bad again before the end was told: the end is told, then the new incident', () => {
    const run = new MachineRun({ ...QUICK, groupMs: 3_000 });
    run.see(5, sees('memory-high', 0.85));
    run.see(11, sees('memory-high', 0.1));
    const said = run.see(10, sees('memory-high', 0.85));
    expect(said).toEqual([`resolved memory-high ${SERVER} warning`, `firing memory-high ${SERVER} warning`]);
  });
});

describe('stale figures', () => {
  test('do not fire what is pending', () => {
    const run = new MachineRun();
    run.see(100, sees('memory-high', 0.85));
    expect(run.see(600, sees('memory-high', null))).toEqual([]);
    expect(states(run)).toEqual(['memory-high pending warning']);
  });

  test('do not end what fires', () => {
    const run = new MachineRun(QUICK);
    run.see(1, sees('memory-high', 0.85));
    expect(run.see(600, sees('memory-high', null))).toEqual([]);
    expect(states(run)).toEqual(['memory-high firing warning']);
  });
});

describe('levels', () => {
  test('a warning that becomes critical is told again, under the same incident', () => {
    const run = new MachineRun(QUICK);
    expect(run.see(5, sees('memory-high', 0.85))).toEqual([`firing memory-high ${SERVER} warning`]);
    const incident = run.alerts[0]?.incident;
    expect(run.see(5, sees('memory-high', 0.97))).toEqual([`firing memory-high ${SERVER} critical`]);
    expect(run.alerts.map((alert) => alert.incident)).toEqual([incident]);
  });

  test('what is critical at once is told once', () => {
    const run = new MachineRun(QUICK);
    expect(run.see(30, sees('memory-high', 0.97))).toEqual([`firing memory-high ${SERVER} critical`]);
  });

  test('critical that falls to a warning is not told; its end is', () => {
    const run = new MachineRun(QUICK);
    run.see(1, sees('memory-high', 0.97));
    expect(run.see(30, sees('memory-high', 0.82))).toEqual([]);
    expect(states(run)).toEqual(['memory-high firing warning']);
    expect(run.see(11, sees('memory-high', 0.1))).toEqual([`resolved memory-high ${SERVER} warning`]);
  });
});

test('the longest prefix decides', () => {
  const thresholds = (warning: number, isOff = false) => ({ isOff, warning, critical: null, forMs: 0 });
  const run = new MachineRun({
    ...settingsWith({
      'lock-held-long': {
        prefixes: [
          { prefix: 'cron:night:', thresholds: thresholds(5_000) },
          { prefix: 'cron:', thresholds: thresholds(60_000) },
          { prefix: 'tmp:', thresholds: thresholds(1, true) },
        ],
      },
    }),
    groupMs: 0,
  });
  const all = ['cron:night:1', 'cron:day', 'tmp:1', 'other'].map((subject) => ({ subject, value: 30_000 }));
  expect(run.see(1, seesAll('lock-held-long', all))).toEqual(['firing lock-held-long cron:night:1 warning']);
});

describe('what is told', () => {
  test('alerts of one rule within five seconds are one message', () => {
    const run = new MachineRun(settingsWith({ 'memory-high': { forMs: 0 } }));
    const one = { subject: 'a', value: 0.9 };
    const two = { subject: 'b', value: 0.97 };
    expect(run.see(3, seesAll('memory-high', [one]))).toEqual([]);
    expect(run.see(10, seesAll('memory-high', [one, two]))).toEqual([
      'firing memory-high b critical, a warning',
    ]);
  });

  test('repeats: critical each hour, warnings each twelve', () => {
    const run = new MachineRun(QUICK);
    expect(run.see(3 * 3_600 + 5, sees('memory-high', 0.97))).toEqual([
      `firing memory-high ${SERVER} critical`,
      ...Array.from({ length: 3 }, () => `repeat memory-high ${SERVER} critical`),
    ]);
    const other = new MachineRun(QUICK);
    expect(other.see(12 * 3_600 + 5, sees('memory-high', 0.85))).toHaveLength(2);
  });

  test('an acknowledgement stops repeats until it ends', () => {
    const run = new MachineRun(QUICK);
    run.see(5, sees('memory-high', 0.97));
    mute(run, 'ack', 2 * 3_600, { rule: 'memory-high' });
    expect(run.see(2 * 3_600 - 10, sees('memory-high', 0.97))).toEqual([]);
    expect(run.see(30, sees('memory-high', 0.97))).toEqual([`repeat memory-high ${SERVER} critical`]);
  });

  test('an acknowledgement does not cover the next incident', () => {
    const run = new MachineRun(QUICK);
    run.see(5, sees('memory-high', 0.97));
    mute(run, 'ack', 100_000, { rule: 'memory-high' });
    run.see(12, sees('memory-high', 0.1));
    expect(run.see(3_605, sees('memory-high', 0.97))).toHaveLength(2);
  });

  test('a silence holds back what fires until it ends; the end of what was told is told', () => {
    const run = new MachineRun(QUICK);
    mute(run, 'silence', 100, { subject: 'redis-*' });
    expect(run.see(100, sees('memory-high', 0.97))).toEqual([]);
    expect(states(run)).toEqual(['memory-high firing critical']);
    expect(run.see(2, sees('memory-high', 0.97))).toEqual([`firing memory-high ${SERVER} critical`]);
    mute(run, 'silence', 100, { rule: 'memory-high' });
    expect(run.see(12, sees('memory-high', 0.1))).toEqual([`resolved memory-high ${SERVER} critical`]);
  });

  test('what fired and ended under a silence is never told', () => {
    const run = new MachineRun(QUICK);
    mute(run, 'silence', 30, { fingerprint: fingerprintOf('shop', 'memory-high', SERVER) });
    run.see(5, sees('memory-high', 0.97));
    expect(run.see(100, sees('memory-high', 0.1))).toEqual([]);
  });

  test('a match without fields, or for another subject, silences nothing', () => {
    const run = new MachineRun(QUICK);
    mute(run, 'silence', 100, {});
    mute(run, 'silence', 100, { rule: 'memory-high', subject: 'redis-2*' });
    expect(run.see(1, sees('memory-high', 0.97))).toHaveLength(1);
  });
});

describe('inhibition', () => {
  const settings = {
    ...settingsWith({
      'redis-unreachable': { forMs: 0, keepForMs: 0 },
      'memory-high': { forMs: 0, keepForMs: 0 },
    }),
    groupMs: 0,
  };

  test('a server that cannot be reached speaks for its other alerts', () => {
    const run = new MachineRun(settings);
    const said = run.see(5, sees('redis-unreachable', 1), sees('memory-high', 0.97));
    expect(said).toEqual([`firing redis-unreachable ${SERVER} critical`]);
    expect(run.see(1, sees('redis-unreachable', 0), sees('memory-high', 0.97))).toEqual([
      `firing memory-high ${SERVER} critical`,
      `resolved redis-unreachable ${SERVER} critical`,
    ]);
  });

  test('not for those of another server', () => {
    const run = new MachineRun(settings);
    const other = sees('memory-high', 0.97, 'redis-2:6379', 'redis-2:6379');
    expect(run.see(1, sees('redis-unreachable', 1), other)).toHaveLength(2);
  });
});

test('thousands of alerts are bounded', () => {
  const run = new MachineRun(QUICK);
  const all = Array.from({ length: 6_000 }, (_, at) => ({ subject: `server-${at}`, value: 0.9 }));
  run.once(seesAll('memory-high', all));
  expect(run.alerts).toHaveLength(5_000);
});
