import { describe, expect, test } from 'vitest';
import { startChild, useChildren } from '../support/processes/child.ts';

/** Node takes seconds to start on a busy machine. */
const SLOW = { timeout: 150_000 };
const ECHO = 'test/support-tests/fixtures/echo.ts';

interface EchoLine {
  readonly hello?: string[];
  readonly setting?: string | null;
  readonly echo?: unknown;
}

const startEcho = (args: string[] = [], env: Record<string, string> = {}) =>
  startChild<EchoLine>(ECHO, args, env);

describe('a child', SLOW, () => {
  useChildren();

  test('runs a TypeScript file with its arguments and environment', async () => {
    const child = startEcho(['a', 'b c'], { ECHO_SETTING: 'on' });
    expect(await child.next()).toEqual({ hello: ['a', 'b c'], setting: 'on' });
    child.endInput();
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.isRunning).toBe(false);
  });

  test('gives the oldest unread line that fits and keeps the others', async () => {
    const child = startEcho();
    for (const message of [1, 2, { three: 3 }]) child.send(message);
    expect(await child.next((line) => line.echo === 2)).toEqual({ echo: 2 });
    expect(await child.next((line) => line.echo !== undefined)).toEqual({ echo: 1 });
    expect(await child.next((line) => line.echo !== undefined)).toEqual({ echo: { three: 3 } });
    expect(child.lines).toHaveLength(4);
    await child.kill();
  });

  test('serves those who wait in the order they asked', async () => {
    const child = startEcho();
    await child.next();
    const first = child.next();
    const second = child.next();
    child.send('x');
    child.send('y');
    expect(await Promise.all([first, second])).toEqual([{ echo: 'x' }, { echo: 'y' }]);
    await child.kill();
  });

  test('that fails shows what it wrote to standard error', async () => {
    const child = startEcho();
    child.send('fail');
    await expect(child.next((line) => line.echo === 'never')).rejects.toThrow(
      /ended first with code 1.*told to fail/s,
    );
    await expect(child.next((line) => line.echo === 'never')).rejects.toThrow('ended first');
    expect((await child.exited).code).toBe(1);
  });

  test('that stays silent is reported after the limit', async () => {
    const child = startEcho();
    await child.next();
    await expect(child.next(() => true, 20)).rejects.toThrow(/said nothing like it within 20 ms.*hello/s);
    await child.kill();
  });

  test('may chatter outside the protocol', async () => {
    const child = startEcho();
    child.send('chatter');
    await child.next((line) => line.echo === 'chatter');
    expect(child.stderr).toContain('this is not JSON');
    await child.kill();
  });

  test('that is stopped says nothing until it continues', async () => {
    const child = startEcho();
    await child.next();
    child.stop();
    child.send('late');
    await expect(child.next(() => true, 50)).rejects.toThrow('said nothing');
    child.cont();
    expect(await child.next()).toEqual({ echo: 'late' });
    await child.kill();
  });

  test('that is stopped can be killed', async () => {
    const child = startEcho();
    await child.next();
    child.stop();
    expect(await child.kill()).toEqual({ code: null, signal: 'SIGKILL' });
  });
});

describe('a file with children left behind', SLOW, () => {
  const left = () => startEcho();
  let child: ReturnType<typeof left>;

  describe('in its tests', () => {
    useChildren();
    test('leaves one', async () => {
      child = left();
      await child.next();
      child.stop();
    });
  });

  test('has none at its end', () => {
    expect(child.isRunning).toBe(false);
  });
});
