/** What a call ends as when the connection or the server fails under it. */
import { describe, expect } from 'vitest';
import { STALL_MS_MAX } from '../../../src/clients/connection/stall-watch.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { command, script } from '../../support/proxies/fault-proxy.ts';
import { waitFor } from '../../support/wait-for.ts';
import { AMPLE_MS, failureOf, type Harness } from '../harness.ts';
import { APPEND, append, echo } from '../scripts.ts';

/** Short, but long enough for a busy machine to make a connection in it. */
const SHORT_MS = 400;

export function failureRules(harness: Harness): void {
  const { rule } = harness;
  describe('a call whose connection is cut', () => {
    rule('after the server ran it ends unknown, and it ran once', async () => {
      const { client } = await harness.adapt();
      await client.run(append('first'), AMPLE_MS);
      const cut = harness.proxy.cutAfterRequest(script(APPEND));
      expect(failureOf(await client.run(append('second'), AMPLE_MS)).kind).toBe('unknown');
      await cut;
      expect(await client.run(append('third'), AMPLE_MS)).toBe(1);
      expect(await harness.appended()).toEqual(['first', 'second', 'third']);
    });

    rule('before the server saw it ends unknown, and it is not sent again', async () => {
      const { client } = await harness.adapt();
      await client.run(append('first'), AMPLE_MS);
      const cut = harness.proxy.cutBeforeRequest(script(APPEND));
      expect(failureOf(await client.run(append('second'), AMPLE_MS)).kind).toBe('unknown');
      await cut;
      expect(await client.run(append('third'), AMPLE_MS)).toBe(1);
      expect(await harness.appended()).toEqual(['first', 'third']);
    });

    rule('between its hash and its text ends without having run', async () => {
      const { client } = await harness.adapt();
      const cut = harness.proxy.cutBeforeRequest(command('EVAL'));
      expect(failureOf(await client.run(append('x'), AMPLE_MS)).kind).toBe('unknown');
      await cut;
      expect(await harness.appended()).toEqual([]);
    });

    rule('takes the others in flight with it', async () => {
      const { client } = await harness.adapt();
      await client.run(echo('x'), AMPLE_MS);
      harness.proxy.freeze();
      const calls = ['a', 'b', 'c'].map((value) => client.run(echo(value), AMPLE_MS));
      harness.proxy.cutAll();
      const kinds = (await Promise.all(calls)).map((result) => failureOf(result).kind);
      expect(kinds).toEqual(['unknown', 'unknown', 'unknown']);
    });

    rule('is followed by one on a new connection', async () => {
      const { client } = await harness.adapt();
      await client.run(echo('x'), AMPLE_MS);
      harness.proxy.cutAll();
      await waitFor(() => !client.isConnected, { what: 'the client to notice the cut' });
      expect(await client.run(echo('y'), AMPLE_MS)).toBe('y');
      expect(client.isConnected).toBe(true);
      expect(harness.proxy.connectionsMade).toBe(2);
    });
  });

  describe('a call to a server that is not there', () => {
    rule('ends unreachable with the reason, long before its deadline', async () => {
      const { client } = await harness.adapt();
      harness.proxy.refuse();
      const startMs = performance.now();
      const results = await Promise.all([client.run(echo('a'), AMPLE_MS), client.run(echo('b'), AMPLE_MS)]);
      for (const result of results) {
        const failure = failureOf(result);
        expect(failure.kind).toBe('unreachable');
        harness.expectReason(failure.text, `ECONNREFUSED 127.0.0.1:${harness.proxy.port}`);
      }
      expect(performance.now() - startMs).toBeLessThan(AMPLE_MS / 2);
    });

    rule('does not keep later ones from finding it', async () => {
      const { client } = await harness.adapt();
      harness.proxy.refuse();
      expect(failureOf(await client.run(append('a'), AMPLE_MS)).kind).toBe('unreachable');
      await harness.proxy.accept();
      expect(await client.run(append('b'), AMPLE_MS)).toBe(1);
      expect(await harness.appended()).toEqual(['b']);
    });

    rule('works again after it has crashed and come back', async () => {
      const { client } = await harness.adapt({ port: harness.redis.port });
      expect(await client.run(echo('a'), AMPLE_MS)).toBe('a');
      await harness.redis.kill();
      expect(['unknown', 'unreachable']).toContain(failureOf(await client.run(echo('b'), AMPLE_MS)).kind);
      await harness.redis.restart();
      expect(await waitFor(async () => (await client.run(echo('c'), AMPLE_MS)) === 'c')).toBe(true);
    });
  });

  describe('a call to a server that says nothing', () => {
    rule('ends unreachable at its deadline when the connection is not up, and never runs', async () => {
      const { client } = await harness.adapt();
      harness.proxy.freeze();
      expect(failureOf(await client.run(append('x'), SHORT_MS)).kind).toBe('unreachable');
      harness.proxy.thaw();
      expect(await client.run(append('y'), AMPLE_MS)).toBe(1);
      expect(await harness.appended()).toEqual(['y']);
    });

    rule('ends unknown at its deadline when it was written; its late answer goes nowhere', async () => {
      const { client } = await harness.adapt();
      await client.run(append('a'), AMPLE_MS);
      const { connections } = client;
      harness.proxy.freeze();
      expect(failureOf(await client.run(append('b'), SHORT_MS)).kind).toBe('unknown');
      harness.proxy.thaw();
      // On the same connection, so behind it: this is where a clean-up must be able to go.
      expect(await client.run(append('c'), AMPLE_MS)).toBe(1);
      expect(await harness.appended()).toEqual(['a', 'b', 'c']);
      expect(client.connections).toBe(connections);
    });

    rule('ends unknown at its deadline when its text was on the way', async () => {
      const clock = new FakeClock();
      const { client } = await harness.adapt({ clock });
      await client.run(echo('x'), AMPLE_MS);
      const dropped = harness.proxy.dropReply(command('EVAL'));
      const call = client.run(append('x'), SHORT_MS);
      // Its deadline is not before the text has gone out, however long that takes.
      await dropped;
      await clock.advance(SHORT_MS);
      expect(failureOf(await call).kind).toBe('unknown');
    });

    rule('is not sent by its text once its deadline has passed', async () => {
      const { client } = await harness.adapt();
      await client.run(echo('x'), AMPLE_MS);
      harness.proxy.freeze();
      expect(failureOf(await client.run(append('x'), SHORT_MS)).kind).toBe('unknown');
      harness.proxy.thaw();
      await client.run(echo('behind'), AMPLE_MS);
      await client.run(echo('behind'), AMPLE_MS);
      expect(await harness.appended()).toEqual([]);
    });

    rule('does not keep close from ending at once', async () => {
      const patient = { disconnectTimeout: 60_000 };
      const { client, timers } = await harness.adapt({ port: harness.redis.port, ioredis: patient });
      await client.run(echo('x'), AMPLE_MS);
      harness.redis.freeze();
      const call = client.run(echo('y'), AMPLE_MS);
      const startMs = performance.now();
      await client.close();
      // Less than whatever it could have waited for: the silence of the server, the call, the patience of the client.
      expect(performance.now() - startMs).toBeLessThan(STALL_MS_MAX - 1_000);
      expect(failureOf(await call).kind).toBe('unknown');
      expect(timers.size).toBe(0);
      harness.redis.resume();
      await waitFor(async () => (await harness.ownConnections()).length === 0);
    });
  });

  describe('a connection that takes commands and answers none', () => {
    rule('is dropped when the oldest has waited for STALL_MS_MAX, and not before', async () => {
      const clock = new FakeClock();
      const { client } = await harness.adapt({ clock });
      await client.run(echo('x'), AMPLE_MS);
      harness.proxy.freeze();
      const results: string[] = [];
      const note = (result: unknown): void => void results.push(failureOf(result as never).kind);
      const first = client.run(echo('a'), 60_000).then(note);
      await clock.advance(STALL_MS_MAX / 2);
      const second = client.run(echo('b'), 60_000).then(note);
      await clock.advance(STALL_MS_MAX / 2 - 1);
      expect(results).toEqual([]);
      expect(client.isConnected).toBe(true);
      await clock.advance(1);
      await Promise.all([first, second]);
      expect(results).toEqual(['unknown', 'unknown']);
      expect(client.isConnected).toBe(false);
      harness.proxy.thaw();
      expect(await client.run(echo('c'), 60_000)).toBe('c');
      expect(harness.proxy.connectionsMade).toBe(2);
    });

    rule('is kept while answers come, however long a single one takes', async () => {
      const clock = new FakeClock();
      const { client } = await harness.adapt({ clock });
      await client.run(echo('x'), 60_000);
      for (let turn = 0; turn < 4; turn += 1) {
        harness.proxy.freeze();
        const slow = client.run(echo('slow'), 60_000);
        await clock.advance(STALL_MS_MAX - 1);
        harness.proxy.thaw();
        expect(await slow).toBe('slow');
      }
      expect(client.connections).toBe(1);
    });
  });
}
