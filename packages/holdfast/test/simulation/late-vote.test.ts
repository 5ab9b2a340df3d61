/**
 * Found by the simulator, with three nodes and seed 10105: a vote that a server had refused as late was asked for
 * once more behind its own release, and the server stayed locked for a whole lease by nobody.
 */

import { EmbeddedNode, ManualClock } from 'holdfast-testing';
import { expect, test } from 'vitest';
import { type Client, Locks, type Reply } from '../../src/index.ts';
import { replacing } from './planted/client-bugs.ts';

const LEASE_MS = 1_000;

/** A client whose next answer to an acquire is kept back until it is let go. */
class SlowAnswer {
  readonly sent: string[] = [];
  readonly client: Client;
  #isArmed = false;
  #letGo: () => void = () => {};

  constructor(client: Client) {
    this.client = replacing(client, {
      run: async (call, timeoutMs) => {
        this.sent.push(call.script.name);
        const answer = await client.run(call, timeoutMs);
        if (this.#isArmed && call.script.name === 'lock.acquire') await this.#hold();
        return answer;
      },
    });
  }

  arm(): void {
    this.#isArmed = true;
    this.sent.length = 0;
  }

  letGo(): void {
    this.#letGo();
  }

  #hold(): Promise<Reply | undefined> {
    this.#isArmed = false;
    return new Promise((resolve) => {
      this.#letGo = () => resolve(undefined);
    });
  }
}

test('a vote that was refused as late is not asked for again once it is given up', async () => {
  const clock = new ManualClock();
  const nodes = [1, 2, 3].map(() => new EmbeddedNode({ clock }));
  const [first, second, third] = nodes as [EmbeddedNode, EmbeddedNode, EmbeddedNode];
  // Long enough up to vote.
  await clock.advance(60_000);
  const slow = new SlowAnswer(third.client());
  const locks = new Locks([first.client(), second.client(), slow.client], {
    application: false,
    clock,
    leaseMs: LEASE_MS,
  });
  await (await locks.lock('another').acquire()).release();

  for (const node of [first, second]) {
    await node.command('HSET', 'a', 'b7e1cbb4-3a52-4bd7-9e6e-6d0f5a4f6b11:1', '1');
    await node.command('PEXPIRE', 'a', '600000');
  }
  // Its clock is ahead of what we know of it, so it finds every request late.
  third.advance(30_000);
  slow.arm();
  expect(await locks.lock('a').tryAcquire()).toBeNull();
  await clock.advance(0);
  slow.letGo();
  await clock.advance(0);
  expect(slow.sent.slice(0, slow.sent.lastIndexOf('lock.release'))).toContain('lock.acquire');
  expect(slow.sent.at(-1)).toBe('lock.release');
  expect(await third.command('EXISTS', 'a')).toBe(0);
  await locks.close();
  await Promise.all(nodes.map((node) => node.close()));
});
