/** Under which holder a process waits in the line, what it states there, and what it leaves behind. */
import { describe, expect, test, vi } from 'vitest';
import { CallFailure } from '../../../src/clients/client.ts';
import { Attempts } from '../../../src/locking/waiting/attempt.ts';
import { Mailboxes } from '../../../src/locking/waiting/mailboxes.ts';
import { type GrantMessage, readMessage } from '../../../src/locking/waiting/ticket.ts';
import { LockProtocol } from '../../../src/primitives/lock/protocol.ts';
import type { AcquireResult } from '../../../src/topologies/topology.ts';
import { failed, heldInLine, MAILBOX, protocolWith, ScriptedTopology } from '../support/scripted-topology.ts';

const SECRET = '0123456789abcdef';

function setup(answers: readonly AcquireResult[] = [], protocol = protocolWith({})) {
  const topology = new ScriptedTopology();
  topology.mailbox = MAILBOX;
  topology.answers.push(...answers);
  let number = 0;
  const holderIds = { session: 's', nextNumber: () => ++number, token: () => `${SECRET}...` };
  const { timers, options } = topology;
  const mailboxes = new Mailboxes(topology, 's', options.callTimeoutMs);
  const services = { topology, timers, options, holderIds, mailboxes, record: null };
  const attempts = new Attempts(services, protocol);
  const make = (leaseMs = 30_000, joins = true) =>
    attempts.make({ leaseMs, waitMs: 60_000, behind: 0, joins, lingerMs: 0 });
  const tickets = () => topology.asked.map(({ ticket }) => ticket);
  const holders = () => new Set(topology.asked.map(({ holder }) => holder));
  return { topology, attempts, make, tickets, holders, mailboxes };
}

/** The message that grants what the last ask of the topology stated. */
function grantOf({ asked }: ScriptedTopology, firstFence = 100, fences = 5): GrantMessage {
  const echo = asked.at(-1)?.ticket?.split(' ')[0];
  return readMessage(`g ${echo} ${firstFence} ${fences}`) as GrantMessage;
}

describe('an attempt in the line', () => {
  test('states no ticket before its grant would be heard', async () => {
    const { attempts, make, tickets } = setup([heldInLine({ place: 0, tickets: 0 })]);
    await make();
    expect([attempts.hears, attempts.hasStated]).toEqual([false, false]);
    expect(await attempts.listen()).toBe(null);
    await make();
    expect(tickets()).toEqual([undefined, `3.1.${SECRET} 1000 p a-mailbox`]);
  });

  test('states that it is deaf when it may not subscribe', async () => {
    const { attempts, make, tickets, topology } = setup([heldInLine()]);
    topology.listening = new CallFailure('reply', 'NOPERM', 'NOPERM');
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    expect(await attempts.listen()).toBe(topology.listening);
    await make();
    expect(tickets()).toEqual([`2.1.${SECRET} 1000 n a-mailbox`]);
    for (const [message] of warn.mock.calls) expect(message).toMatch(/^test "a": .*"a-mailbox" \(NOPERM\)/);
    warn.mockRestore();
  });

  test('states nothing for a caller who only tries', async () => {
    const { attempts, make, tickets } = setup();
    await attempts.listen();
    await make(30_000, false);
    expect(tickets()).toEqual([undefined]);
  });

  test('has one holder for a whole wait, and another echo for each ask', async () => {
    const { attempts, make, tickets, holders, topology } = setup([heldInLine(), heldInLine(), heldInLine()]);
    await attempts.listen();
    for (let i = 0; i < 4; i += 1) await make();
    expect([...holders()]).toEqual(['s:1']);
    expect(tickets()).toEqual([1, 2, 3, 4].map((ask) => `2.${ask}.${SECRET} 1000 p a-mailbox`));
    expect(topology.asked.map(({ isInLine }) => isInLine)).toEqual([false, true, true, true]);
  });

  test('has a fresh holder and another number for the next wait', async () => {
    const { attempts, make, tickets, holders } = setup([heldInLine()]);
    await attempts.listen();
    await make();
    await make();
    await make();
    expect([...holders()]).toEqual(['s:1', 's:3']);
    expect(tickets().map((ticket) => ticket?.split('.')[0])).toEqual(['2', '2', '4']);
  });

  test('claims no longer than its lease', async () => {
    const { attempts, make, tickets } = setup([heldInLine()]);
    await attempts.listen();
    await make(300);
    await make(60_000);
    expect(tickets().map((ticket) => ticket?.split(' ')[1])).toEqual(['300', '1000']);
  });

  test('claims for twice as long after each claim that it lost, up to 5 s', async () => {
    const answers = Array.from({ length: 6 }, () => heldInLine());
    const { attempts, make, tickets, topology } = setup(answers);
    await attempts.listen();
    for (let i = 0; i < 5; i += 1) {
      await make();
      // Told when the claim is over, and the next answer is that somebody else has it.
      await topology.clock.advance(6_000);
      expect(attempts.claim(grantOf(topology))?.isYoung).toBe(false);
    }
    await make();
    const claims = tickets().map((ticket) => ticket?.split(' ')[1]);
    expect(claims).toEqual(['1000', '1000', '2000', '4000', '5000', '5000']);
  });

  test('is abandoned, once, when nobody wants its place any more', async () => {
    const { attempts, make, topology } = setup([heldInLine(), heldInLine()]);
    await attempts.listen();
    await make();
    await make();
    attempts.abandon();
    attempts.abandon();
    expect(topology.abandoned).toEqual(['s:1']);
  });

  test('that is refused while an earlier one has a place keeps that holder, and leaves it to be abandoned', async () => {
    const { attempts, make, topology, holders } = setup([heldInLine(), failed(true)]);
    await attempts.listen();
    await make();
    await make();
    attempts.abandon();
    expect([[...holders()], topology.abandoned]).toEqual([['s:1'], ['s:1']]);
  });

  test('by a caller who only tries, refused while an earlier one has a place, leaves that to be abandoned', async () => {
    const { attempts, make, topology } = setup([heldInLine(), heldInLine()]);
    await attempts.listen();
    await make();
    await make(30_000, false);
    expect(topology.asked.map(({ isInLine }) => isInLine)).toEqual([false, true]);
  });

  test('that got no place because the line is full has stated a ticket, and leaves nothing', async () => {
    const { attempts, make, topology } = setup([heldInLine({ place: 0, tickets: 10_000 })]);
    await attempts.listen();
    await make();
    attempts.abandon();
    expect([attempts.hasStated, topology.abandoned]).toEqual([true, []]);
  });

  test('hears nothing any more once it is abandoned', async () => {
    const { attempts, make, topology } = setup([heldInLine()]);
    await attempts.listen();
    await make();
    const heard: unknown[] = [];
    attempts.attach((message) => heard.push(message));
    const grant = grantOf(topology);
    attempts.abandon();
    topology.channels.publish(MAILBOX.channel, `g ${grant.echo} 1 1`);
    expect([heard, attempts.claim(grant)]).toEqual([[], null]);
  });
});

describe('a grant by message', () => {
  test('is of the holder that waits, for as long as its claim', async () => {
    const { attempts, make, topology } = setup([heldInLine()]);
    await attempts.listen();
    await make();
    topology.clock.advanceSync(100);
    const grant = attempts.claim(grantOf(topology));
    expect(grant).toMatchObject({ is: 'granted', terms: { holder: 's:1' }, claimMs: 1_000, isYoung: true });
    expect(grant?.answer.deadline.monotonicMs).toBe(1_000 + 1_000 - 12);
  });

  test('with an echo of somebody else is worth nothing', async () => {
    const { attempts, make, topology } = setup([heldInLine()]);
    await attempts.listen();
    await make();
    const { echo } = grantOf(topology);
    const forged = echo.replace(SECRET, 'f'.repeat(16));
    expect(attempts.claim({ is: 'grant', echo: forged, firstFence: 1, fences: 1 })).toBe(null);
  });

  /** What a confirming ask is answered with for a holder that has the lock already: the last fence of its block. */
  const confirmed = async (lastFence: number) => {
    const scene = setup([heldInLine()], new LockProtocol('a', 'a', 0));
    const { attempts, make, topology } = scene;
    await attempts.listen();
    await make();
    attempts.claim(grantOf(topology, 100, 5));
    const answer = topology.granted(30_000);
    topology.answers.push({ ...answer, firstFence: lastFence, fences: 1 } as AcquireResult);
    return make();
  };

  test('tells the block of fences: all of it is used if the confirming ask is answered with its end', async () => {
    expect(await confirmed(104)).toMatchObject({ answer: { firstFence: 100, fences: 5 } });
  });

  test.each([103, 105, 100])(
    'is not believed about fences if the confirming ask is answered with %d',
    async (last) => {
      expect(await confirmed(last)).toMatchObject({ answer: { firstFence: last, fences: 1 } });
    },
  );
});
