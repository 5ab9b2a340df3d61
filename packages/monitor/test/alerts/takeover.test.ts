/**
 * Monitors that die at any step, on a real Redis, and others that take over. Whatever happens, each incident is told from
 * its beginning to its end, in order, and what is told twice is told under the same key.
 */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { seeded } from '../../../holdfast/test/support/seeded.ts';
import { useRedis } from '../../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';
import type { AlertSettings } from '../../src/alerts/config/settings.ts';
import { LeaderTerm } from '../../src/alerts/lead/term.ts';
import type { Alert } from '../../src/alerts/machine/alert.ts';
import type { Notice } from '../../src/alerts/machine/notice.ts';
import { Judge } from '../../src/alerts/rules/judge.ts';
import { AlertStore, StaleLeaderError } from '../../src/alerts/state/store.ts';
import { systemClock } from '../../src/alerts/system-clock.ts';
import { card, figures } from './support/figures.ts';
import { CrashError, FrailRedis } from './support/frail-redis.ts';
import { settingsWith } from './support/machine.ts';
import { STDOUT } from './support/notices.ts';

const server = useRedis();
/** The long form: HOLDFAST_TAKEOVERS=200. */
const RUNS = Number(process.env['HOLDFAST_TAKEOVERS'] ?? 8);
const STEPS = 14;
const RECEIVERS = ['ops', 'mail'];
const OWN = { configRefusal: null, startedAt: 0 };
const AT_ONCE = { forMs: 0, keepForMs: 0 };

let redis: Redis;
beforeAll(() => {
  redis = new Redis(server.url);
});
afterAll(() => redis.quit());

const SETTINGS: AlertSettings = {
  ...settingsWith({ 'memory-high': AT_ONCE, 'cpu-high': AT_ONCE, 'replica-down': AT_ONCE }),
  groupMs: 0,
  receivers: RECEIVERS.map((name) => ({ ...STDOUT, name })),
};

/** What is bad in one step: three rules, each by chance. */
function picture(bits: number) {
  const at = Date.now();
  return figures({
    at,
    servers: [
      card({
        seenAt: at,
        memoryUsed: bits & 1 ? 970 : 100,
        cpu: bits & 2 ? 0.97 : 0.1,
        replicas: bits & 4 ? 0 : 1,
      }),
    ],
  });
}

interface Told {
  readonly receiver: string;
  readonly notice: Notice;
}

/** A monitor that leads from the moment it is made. */
class Monitor {
  readonly frail: FrailRedis = new FrailRedis(redis);
  readonly #closing = new AbortController();
  readonly #told: Told[];
  #diesAfterSend = false;
  #term: LeaderTerm | null = null;
  #delivering: Promise<void> = Promise.resolve();

  constructor(told: Told[]) {
    this.#told = told;
  }

  get isDead(): boolean {
    return this.frail.isDead;
  }

  dieAfterSend(): void {
    this.#diesAfterSend = true;
  }

  async begin(fleet: string, fence: number): Promise<void> {
    const around = {
      store: new AlertStore(this.frail, fleet, systemClock),
      judge: new Judge(),
      clock: systemClock,
      chance: () => 0,
      token: () => crypto.randomUUID(),
      hiddenMs: 5,
      send: async (receiver: { name: string }, notice: Notice) => {
        if (this.isDead) throw new CrashError('this monitor is dead');
        this.#told.push({ receiver: receiver.name, notice });
        if (this.#diesAfterSend) this.frail.die();
        return { is: 'sent' } as const;
      },
      log: () => {},
      onOutcome: () => {},
    };
    this.#term = await LeaderTerm.begin(around, fence, { ...SETTINGS, fleet }, null);
    this.#delivering = this.#term.deliver(this.#closing.signal);
  }

  async tick(bits: number): Promise<void> {
    await this.#term?.tick(picture(bits), OWN);
  }

  get isIdle(): boolean {
    return RECEIVERS.every((receiver) => this.#term?.isIdle(receiver) === true);
  }

  async end(): Promise<void> {
    this.frail.die();
    this.#closing.abort();
    await this.#delivering;
  }
}

/** Messages of one receiver, each once, in the order in which they first came. */
function firstOf(told: readonly Told[], receiver: string): Notice[] {
  const seen = new Map<string, Notice>();
  for (const one of told) {
    if (one.receiver !== receiver) continue;
    const before = seen.get(one.notice.key);
    if (before === undefined) seen.set(one.notice.key, one.notice);
    else expect(one.notice).toEqual(before);
  }
  return [...seen.values()];
}

async function historyOf(fleet: string): Promise<{ kind: string; alert: Alert }[]> {
  const entries = await new AlertStore(redis, fleet, systemClock).history(null, 5_000);
  return entries
    .filter(({ kind }) => kind === 'fired' || kind === 'resolved')
    .map(({ kind, entry }) => ({ kind, alert: JSON.parse(entry) as Alert }))
    .reverse();
}

let runs = 0;
let takeovers = 0;

test.each(Array.from({ length: RUNS }, (_, seed) => seed + 1))(
  'nothing is lost or out of order, seed %i',
  async (seed) => {
    const random = seeded(seed);
    const below = (count: number): number => Math.floor(random() * count);
    const fleet = `takeover-${seed}`;
    const told: Told[] = [];
    const crowd: Monitor[] = [];
    let fence = 0;
    const takeOver = async (): Promise<Monitor> => {
      for (;;) {
        const monitor = new Monitor(told);
        crowd.push(monitor);
        const fate = below(6);
        if (fate === 0) monitor.frail.crashAt(0, 'after');
        else if (fate <= 3) monitor.frail.crashAt(1 + below(8), fate === 1 ? 'before' : 'after');
        else if (fate === 4) monitor.dieAfterSend();
        fence += 1;
        try {
          await monitor.begin(fleet, fence);
          return monitor;
        } catch (error) {
          if (!(error instanceof CrashError)) throw error;
        }
      }
    };
    let leader = await takeOver();
    runs += 1;
    const replace = async (): Promise<void> => {
      const paused = below(3) === 0 && !leader.isDead ? leader : null;
      leader = await takeOver();
      takeovers += 1;
      // A leader that was paused and knows nothing writes nothing any more.
      if (paused === null) return;
      const refusal = await paused.tick(below(8)).catch((error: unknown) => error);
      expect(paused.isDead || refusal instanceof StaleLeaderError, String(refusal)).toBe(true);
    };
    const carryOut = async (bits: number): Promise<void> => {
      for (;;) {
        try {
          await leader.tick(bits);
          await waitFor(() => leader.isIdle || leader.isDead, { what: 'all to be delivered, or a crash' });
          if (leader.isIdle && !leader.isDead) return;
        } catch (error) {
          if (!leader.isDead) throw error;
        }
        await replace();
      }
    };
    for (let step = 0; step < STEPS; step += 1) {
      if (below(5) === 0) await replace();
      await carryOut(below(8));
    }
    // Twice: what became well is told with the next step.
    await carryOut(0);
    await carryOut(0);
    await Promise.all(crowd.map((monitor) => monitor.end()));

    const history = await historyOf(fleet);
    expect(history.length).toBeGreaterThan(0);
    for (const receiver of RECEIVERS) {
      const messages = firstOf(told, receiver);
      const order = messages.map(({ key }) => key.split('-').slice(1).map(Number));
      expect(order).toEqual(
        order.toSorted((one, other) => (one[0] ?? 0) - (other[0] ?? 0) || (one[1] ?? 0) - (other[1] ?? 0)),
      );
      for (const { kind, alert } of history) {
        const about = messages.filter(({ alerts }) => alerts.some(({ key }) => key === alert.key));
        const isSaid =
          kind === 'fired'
            ? about.some((notice) => notice.kind === 'firing' || notice.saysBoth)
            : about.some((notice) => notice.kind === 'resolved');
        expect(isSaid, `${receiver} was not told that ${alert.rule} ${alert.incident} ${kind}`).toBe(true);
      }
      const beginnings = history
        .filter(({ kind }) => kind === 'fired')
        .map(({ alert }) => `${alert.rule} ${alert.incident}`);
      const ends = history
        .filter(({ kind }) => kind === 'resolved')
        .map(({ alert }) => `${alert.rule} ${alert.incident}`);
      expect(ends.toSorted()).toEqual(beginnings.toSorted());
    }
  },
);

test('the runs before had takeovers to survive', () => {
  expect(takeovers).toBeGreaterThanOrEqual(runs);
});
