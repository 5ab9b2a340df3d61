/**
 * A monitor that starts while alerts are open: what it has not seen itself, it neither fires nor ends. Each alert fires under
 * one monitor and is judged by another that has only the state and what Redis shows by then.
 */
import { describe, expect, test } from 'vitest';
import { Judge } from '../../src/alerts/rules/judge.ts';
import type { Row } from '../../src/api/types.ts';
import { AT, card, type FiguresGiven, figures, row } from './support/figures.ts';
import { MachineRun, SERVER, settingsWith } from './support/machine.ts';

const OWN = { waiting: [], configRefusal: null, startedAt: 0 };
/** Five times as long as an alert stays open when all is well. */
const LONG_S = 300;

/** The monitors of a fleet, one after the other, on one state. */
class Fleet {
  readonly #run = new MachineRun({ ...settingsWith(), groupMs: 0 });
  #judge = new Judge();

  /** The next monitor has the state, through JSON, and no memory. */
  restart(): void {
    this.#run.reload();
    this.#judge = new Judge();
  }

  see(seconds: number, given: FiguresGiven): string[] {
    return Array.from({ length: seconds }, () => {
      const judgements = this.#judge.look(figures(given), OWN, this.#run.alerts);
      return this.#run.see(1, ...judgements);
    }).flat();
  }

  states(): string[] {
    return this.#run.alerts.map(({ rule, state, summary }) => `${rule} ${state}: ${summary}`);
  }
}

describe('owner-gone', () => {
  const FIRING = ['firing owner-gone order:1001 warning'];
  const RESOLVED = ['resolved owner-gone order:1001 warning'];
  /** The hold as a monitor sees it that has never read the record of its session. */
  const unknown = (given: Partial<Row> = {}): FiguresGiven => ({
    locks: [row({ app: null, host: null, pid: null, renewing: false, renewedAt: null, ...given })],
  });

  /** Firing, and judged by a monitor that started later. */
  function restarted(): Fleet {
    const fleet = new Fleet();
    expect(fleet.see(5, { locks: [row({ ownerGone: true })] })).toEqual(FIRING);
    fleet.restart();
    return fleet;
  }

  test('stays while the dead owner still holds, in the words of the monitor that saw it die', () => {
    const fleet = restarted();
    expect(fleet.see(LONG_S, unknown())).toEqual([]);
    expect(fleet.states()).toEqual(['owner-gone firing: its owner billing web-3 4711 is gone']);
    fleet.restart();
    expect(fleet.see(LONG_S, unknown())).toEqual([]);
  });

  test.each([
    ['the hold has ended', {}],
    ['another owner has the lock, who is not known either', unknown({ holder: 'other:1' })],
    ['others wait for it and nobody has it', unknown({ kind: 'free', holder: '', waiting: 1 })],
    ['the record of the owner was read: it lives', { locks: [row()] }],
    ['the owner was seen to renew', unknown({ renewing: true, renewedAt: 1 })],
  ])('ends when %s', (_what, given) => {
    const fleet = restarted();
    expect(fleet.see(LONG_S, unknown())).toEqual([]);
    expect(fleet.see(90, given)).toEqual(RESOLVED);
  });

  test('does not fire for an owner of whom no monitor knows that it died', () => {
    const fleet = new Fleet();
    expect(fleet.see(LONG_S, unknown())).toEqual([]);
    expect(fleet.states()).toEqual([]);
  });
});

describe('renewals-late', () => {
  const FIRING = ['firing renewals-late order:1001 warning'];
  const RESOLVED = ['resolved renewals-late order:1001 warning'];
  /** Until the lease is renewed the next monitor has not seen that the owner renews. */
  const unknown: FiguresGiven = { locks: [row({ renewing: false, renewedAt: null })] };

  test('stays until the owner renews or the lease is over', () => {
    for (const then of [{ locks: [row()] }, {}]) {
      const fleet = new Fleet();
      expect(fleet.see(8, { locks: [row({ late: true })] })).toEqual(FIRING);
      fleet.restart();
      expect(fleet.see(LONG_S, unknown)).toEqual([]);
      expect(fleet.see(90, then)).toEqual(RESOLVED);
    }
  });
});

describe('lock-held-long', () => {
  const FIRING = ['firing lock-held-long order:1001 warning'];
  const RESOLVED = ['resolved lock-held-long order:1001 warning'];
  /** A lock of another library: since when it is held is known only to who saw the beginning. */
  const held = (seconds: number, given: Partial<Row> = {}): FiguresGiven => ({
    locks: [row({ grantedAt: AT - seconds * 1_000, exact: false, ...given })],
  });

  test('stays while the hold goes on that the next monitor found', () => {
    const fleet = new Fleet();
    expect(fleet.see(1, held(720))).toEqual(FIRING);
    fleet.restart();
    expect(fleet.see(LONG_S, held(5))).toEqual([]);
    const words = (held: string): string =>
      `lock-held-long firing: held for at least ${held} by billing web-3 4711, limit 10m`;
    expect(fleet.states()).toEqual([words('12m')]);
    expect(fleet.see(1, held(780))).toEqual([]);
    expect(fleet.states()).toEqual([words('13m')]);
  });

  test.each([
    ['the hold has ended', {}],
    ['another owner was found with the lock', held(5, { holder: 'other:1' })],
    ['the same owner was seen to take it anew', held(5, { exact: true })],
  ])('ends when %s', (_what, given) => {
    const fleet = new Fleet();
    expect(fleet.see(1, held(720))).toEqual(FIRING);
    fleet.restart();
    expect(fleet.see(LONG_S, held(5))).toEqual([]);
    expect(fleet.see(90, given)).toEqual(RESOLVED);
  });
});

describe('replica-down', () => {
  const FIRING = [`firing replica-down ${SERVER} critical`];
  const RESOLVED = [`resolved replica-down ${SERVER} critical`];
  const replicas = (now: number, seenMax: number): FiguresGiven => ({
    servers: [card({ replicas: now, replicasSeenMax: seenMax })],
  });

  test.each([
    [0, 1],
    [1, 2],
  ])('stays while %i of %i are there, and ends when all are back', (now, all) => {
    const fleet = new Fleet();
    expect(fleet.see(45, replicas(now, all))).toEqual(FIRING);
    fleet.restart();
    // The new monitor knows of no more than there are now.
    expect(fleet.see(LONG_S, replicas(now, now))).toEqual([]);
    expect(fleet.states()).toEqual([`replica-down firing: ${now} of ${all} replicas are connected`]);
    expect(fleet.see(90, replicas(all, all))).toEqual(RESOLVED);
    // The number that was expected is forgotten with the alert.
    fleet.restart();
    expect(fleet.see(LONG_S, replicas(now, now))).toEqual([]);
  });

  test('fires in time when the monitor restarts before it has', () => {
    const fleet = new Fleet();
    expect(fleet.see(20, replicas(0, 1))).toEqual([]);
    fleet.restart();
    expect(fleet.see(20, replicas(0, 0))).toEqual(FIRING);
  });
});
