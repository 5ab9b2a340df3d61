/** Who speaks while the state of the alerts is away, when, and under which key. */
import { expect, test } from 'vitest';
import { FakeClock } from '../../../holdfast/test/support/fake-clock.ts';
import { OutageVoice } from '../../src/alerts/lead/outage.ts';
import { fingerprintOf } from '../../src/alerts/machine/alert.ts';
import type { Notice } from '../../src/alerts/machine/notice.ts';
import { card, figures } from './support/figures.ts';
import { settingsWith } from './support/machine.ts';
import { STDOUT } from './support/notices.ts';

const SETTINGS = { ...settingsWith(), receivers: [STDOUT] };
const SERVER = 'redis-1:6379';

class Run {
  readonly said: Notice[] = [];
  readonly clock: FakeClock = new FakeClock();
  readonly voice: OutageVoice = new OutageVoice({
    clock: this.clock,
    chance: () => 0,
    print: (line) => void this.said.push(JSON.parse(line) as Notice),
    log: () => {},
  });

  /** So many seconds, one look each. */
  async pass(seconds: number, isDown: boolean, away: string | null, ledLast: boolean): Promise<string[]> {
    const before = this.said.length;
    for (let passed = 0; passed < seconds; passed += 1) {
      const at = this.clock.wallMs();
      const seen = figures({ at, servers: [card({ seenAt: at, health: isDown ? 'down' : 'up' })] });
      this.voice.tick(seen, { away, ledLast, known: new Map() }, SETTINGS, at);
      await this.clock.advance(1_000);
    }
    return this.said.slice(before).map(({ kind, voice, alerts }) => `${kind} ${voice} ${alerts[0]?.subject}`);
  }
}

test('the last leader speaks as soon as the rule fires; the time before the outage counts', async () => {
  const run = new Run();
  expect(await run.pass(8, true, null, true)).toEqual([]);
  expect(await run.pass(2, true, 'no answer', true)).toEqual([]);
  expect(await run.pass(60, true, 'no answer', true)).toEqual([`firing last-leader ${SERVER}`]);
  expect(run.said[0]).toMatchObject({ key: fingerprintOf('shop', 'redis-unreachable', SERVER) });
  expect(run.said[0]?.alerts[0]?.key).toBe(run.said[0]?.key);
});

test('others wait for a minute, and say that they are a second voice', async () => {
  const run = new Run();
  expect(await run.pass(70, true, 'no answer', false)).toEqual([]);
  expect(await run.pass(2, true, 'no answer', false)).toEqual([`firing second-voice ${SERVER}`]);
});

test('while the state answers nobody speaks', async () => {
  const run = new Run();
  expect(await run.pass(300, true, null, true)).toEqual([]);
  expect(run.voice.takeSpoken()).toEqual([]);
});

test('what was said is handed to the state when it is back, once', async () => {
  const run = new Run();
  await run.pass(20, true, 'no answer', true);
  expect(run.voice.takeSpoken()).toMatchObject([{ server: SERVER, receivers: ['log'] }]);
  expect(run.voice.takeSpoken()).toEqual([]);
});

test('an end during the outage is told too', async () => {
  const run = new Run();
  await run.pass(20, true, 'no answer', true);
  expect(await run.pass(62, false, 'no answer', true)).toContain(`resolved last-leader ${SERVER}`);
});

test('a state that is away while all servers answer is an alert of its own', async () => {
  const run = new Run();
  expect(await run.pass(12, false, 'ECONNREFUSED', true)).toEqual([
    'firing last-leader the state of the alerts',
  ]);
  expect(run.said[0]?.alerts[0]?.summary).toBe('ECONNREFUSED');
});
