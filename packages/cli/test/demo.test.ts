/** The demo, on a real server, on the Redis it brings, on a terminal. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { useLeakCheck } from '../../holdfast/test/support/leak-check.ts';
import { ask, asStrings } from '../../holdfast/test/support/servers/raw-redis.ts';
import { useRedis } from '../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../holdfast/test/support/wait-for.ts';
import { sqliteNode } from '../../sql/test/support/sqlite-node.ts';
import type { RoundResult } from '../src/demo/round.ts';
import { CODE } from '../src/demo/summary.ts';
import { ROOT } from './support/built-cli.ts';
import { holdfast, start } from './support/holdfast.ts';
import { childrenOf, isRunning } from './support/job.ts';
import { readAs } from './support/schema.ts';
import { openTerminal } from './support/terminal.ts';

const LIMIT_MS = 180_000;
/** A round that takes long on a busy machine is not cut short. */
const SMALL = ['--buyers', '20', '--instances', '2', '--seconds', '100'];

/**
 * How much later than the end of a lease the next shop may go on: its timer, a few round trips, a busy machine. That it knows
 * when the lease ends is shown by a clock that is ours: `locking/seeking.test.ts` of the library.
 */
const LATE_MS_MAX = 15_000;

/** The oldest supported Node has no SQLite. */
const sqlite = sqliteNode();

const redis = useRedis();
const locked = useRedis({ args: ['--requirepass', 'hunter2'] });
/** The shop that is killed cannot remove its record, which expires within a minute. */
const RECORD = /^holdfast_session:/;
useLeakCheck(redis, { ignoreKeys: [RECORD] });

/** What the test reads of the monitor's answers. */
interface LockDetail {
  readonly holds: readonly { readonly app: string | null }[];
}
interface StateView {
  readonly fleet: string;
  readonly locks: readonly { readonly name: string; readonly app: string | null }[];
}

interface Played {
  readonly rounds: readonly RoundResult[];
  readonly leaseMs: number;
}

describe('the demo', { timeout: LIMIT_MS }, () => {
  test('on a real server shows every round as promised, and leaves only what expires within a minute', async () => {
    const terms = ['--stock', '200', '--redis', redis.url, '--json'];
    const { code, stdout, stderr } = await holdfast(['demo', ...SMALL, ...terms]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { rounds, leaseMs } = readAs<Played>('demo', stdout);
    const [without, locked, killed, frozen] = rounds as [RoundResult, RoundResult, RoundResult, RoundResult];
    expect(without).toMatchObject({ round: 'without', stock: 200, isExact: false, handovers: null });
    expect(without.lostUpdates).toBeGreaterThan(0);
    expect(locked).toMatchObject({
      round: 'with',
      stock: 200,
      sold: 200,
      left: 0,
      oversold: 0,
      isExact: true,
    });
    expect(locked.handovers).toBeGreaterThan(0);
    expect(killed).toMatchObject({ round: 'killed', stock: 20, sold: 20, left: 0, isExact: true });
    expect(frozen).toMatchObject({ round: 'frozen', stock: 20, sold: 20, left: 0, isExact: true });
    expect(frozen.refusedWrites).toBe(1);
    // Renewed a moment ago at best, a third of a lease ago at worst; then the next owner's wake-up.
    for (const { pausedMs } of [killed, frozen]) {
      expect(pausedMs).toBeGreaterThan(leaseMs / 2);
      expect(pausedMs).toBeLessThan(leaseMs + LATE_MS_MAX);
    }
    const keys = asStrings(await ask(redis.port, ['KEYS', '*']));
    expect(keys).toEqual([expect.stringMatching(RECORD)]);
    expect(await ask(redis.port, ['PTTL', keys[0] ?? ''])).toBeGreaterThan(0);
  });

  test('without a Redis, on a terminal, shows what goes on and explains it', async () => {
    const terminal = openTerminal(['demo', ...SMALL, '--stock', '800', '--no-chaos']);
    await terminal.shows('on a Redis of its own', LIMIT_MS);
    await terminal.shows(/[█░]{24} [\d,]+ of 800 sold.*a second, shop \d holds it, \d+ handovers/, LIMIT_MS);
    expect(await terminal.ended).toBe(0);
    expect(terminal.text).toMatch(/Round 1: no lock[\s\S]*(oversold by [\d,]+|not exact): /);
    expect(terminal.text).toMatch(/Round 2: with the lock[\s\S]*exact: 800 of 800 sold in [\d.]+ s, 0 left/);
    expect(terminal.text).not.toContain('Round 3');
    for (const line of CODE) expect(terminal.text).toContain(line);
  });

  test('on a Redis of its own does not look at what the environment says of others', async () => {
    const env = {
      HOLDFAST_REDIS_CLUSTER: '1',
      HOLDFAST_REDIS_PASSWORD: 'hunter2',
      HOLDFAST_REDIS_URL: 'redis://no.invalid',
    };
    const ran = await holdfast(['demo', ...SMALL, '--stock', '50', '--no-chaos', '--json'], { env });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
  });

  test('on a server gives the shops the login of the environment', async () => {
    const env = { HOLDFAST_REDIS_CLUSTER: '1', HOLDFAST_REDIS_PASSWORD: 'hunter2' };
    const terms = ['--stock', '50', '--no-chaos', '--json', '--redis', locked.url];
    const ran = await holdfast(['demo', ...SMALL, ...terms], { env });
    expect(ran).toMatchObject({ code: 0, stderr: '' });
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGKILL', null],
  ] as const)('takes its processes with it on %s', async (signal, code) => {
    const running = start(['demo', '--stock', '1000000', '--seconds', '60', '--instances', '2']);
    await running.says('Round 1');
    const children = childrenOf(running.pid);
    expect(children.length).toBeGreaterThanOrEqual(3);
    running.kill(signal);
    expect(await running.ended).toMatchObject({ code });
    await waitFor(() => !children.some(isRunning), { what: 'the shops to end', limitMs: 60_000 });
  });

  test('with --watch shows the sale on the page of a monitor, which ends with the sale', async () => {
    const running = start(['demo', ...SMALL, '--stock', '100', '--watch', '--json']);
    await waitFor(() => running.stderr.includes('\n'), { what: 'the address', limitMs: LIMIT_MS });
    const [, page = '', item = ''] = /(http:\S+\/)#\/lock\/(\S+)/.exec(running.stderr) ?? [];
    expect(await (await fetch(page)).text()).toContain('<title>holdfast monitor</title>');
    // A lock whose page is open is looked at four times a second, also before anybody holds it.
    const seen = await waitFor(
      async () => {
        const { holds } = (await (await fetch(`${page}api/v1/lock?name=${item}`)).json()) as LockDetail;
        const { fleet, locks } = (await (await fetch(`${page}api/v1/state`)).json()) as StateView;
        // Holds that have ended stay on the page of their lock: a stall of the test does not miss them.
        const isSeen = [...locks.filter(({ name }) => name === item), ...holds].some(
          ({ app }) => app === 'inventory shop',
        );
        return isSeen ? fleet : null;
      },
      { what: 'a shop on the page', limitMs: LIMIT_MS },
    );
    expect(seen).toBe('demo');
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(readAs<Played>('demo', stdout).rounds).toHaveLength(4);
    await expect(fetch(page)).rejects.toThrow('fetch failed');
  });

  test('on a terminal --watch keeps the page until Ctrl-C, and ends as the sale did', async () => {
    const terminal = openTerminal(['demo', ...SMALL, '--stock', '50', '--no-chaos', '--watch']);
    await terminal.shows('Ctrl-C ends it', LIMIT_MS);
    const [page = ''] = /http:\/\/[\d.:]+\//.exec(terminal.text) ?? [];
    expect((await fetch(`${page}healthz`)).status).toBe(200);
    terminal.type('\u0003');
    expect(await terminal.ended).toBe(0);
    await expect(fetch(page)).rejects.toThrow('fetch failed');
  });

  test.runIf(sqlite !== null)(
    'with --sql keeps the stock in SQLite, which refuses the late write',
    async () => {
      const command = [...SMALL, '--stock', '100', '--redis', redis.url, '--json', '--sql'];
      const ran = await holdfast(['demo', ...command], { node: sqlite ?? '' });
      expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: '' });
      const { rounds } = readAs<Played>('demo', ran.stdout);
      expect(rounds.slice(1).every(({ isExact }) => isExact)).toBe(true);
      expect(rounds.at(-1)?.refusedWrites).toBeGreaterThanOrEqual(1);
    },
  );

  test.runIf(Number.parseInt(process.versions.node, 10) < 22)(
    'with --sql on a Node without SQLite says so',
    async () => {
      const { code, stderr } = await holdfast(['demo', '--sql']);
      expect({ code, stderr }).toEqual({
        code: 64,
        stderr: `holdfast: --sql: expected a Node with SQLite, 22.13 or newer; this is ${process.versions.node}\n`,
      });
    },
  );

  test('shows the code of the example', () => {
    const shop = readFileSync(join(ROOT, 'examples/inventory/shop.ts'), 'utf8');
    for (const line of CODE) expect(shop).toContain(line.trim());
  });
});
