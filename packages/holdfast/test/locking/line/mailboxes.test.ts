/** Where a session hears of its grants: what is subscribed, when, and which wait is told. */
import { describe, expect, test } from 'vitest';
import { CallFailure } from '../../../src/clients/client.ts';
import { Mailboxes, type Receiver } from '../../../src/locking/waiting/mailboxes.ts';
import { readMessage, type WaitMessage } from '../../../src/locking/waiting/ticket.ts';
import type { Mailbox } from '../../../src/topologies/topology.ts';
import { MAILBOX, ScriptedTopology } from '../support/scripted-topology.ts';

const MAILBOXES_MAX = 1_000;
const UNCLAIMED_MAX = 256;

const mailboxOf = (name: string): Mailbox => ({ channel: `line:${name}`, mode: 's' });

function setup() {
  const topology = new ScriptedTopology();
  const subscribed: string[] = [];
  const listen = topology.listen.bind(topology);
  topology.listen = (channel, wake) => {
    subscribed.push(channel);
    return listen(channel, wake);
  };
  const revoked: string[] = [];
  const mailboxes = new Mailboxes(topology, 's', 500, (holder, words) => revoked.push(`${holder} ${words}`));
  const heard: (WaitMessage | string | null)[] = [];
  const receiver: Receiver = (message) => heard.push(message);
  const tell = (message: string | null, { channel } = MAILBOX) => topology.channels.publish(channel, message);
  return { topology, subscribed, mailboxes, heard, receiver, tell, revoked };
}

describe('a mailbox', () => {
  test('is subscribed once, however many open it at once or later', async () => {
    const { mailboxes, subscribed } = setup();
    expect(mailboxes.isOpen(MAILBOX)).toBe(false);
    expect(await Promise.all([mailboxes.open(MAILBOX), mailboxes.open(MAILBOX)])).toEqual([null, null]);
    expect(await mailboxes.open(MAILBOX)).toBe(null);
    expect([subscribed, mailboxes.isOpen(MAILBOX)]).toEqual([[MAILBOX.channel], true]);
  });

  test('that could not be opened says why to all who opened it, and is tried again by the next', async () => {
    const { mailboxes, topology } = setup();
    const failure = new CallFailure('reply', 'NOPERM');
    topology.listening = failure;
    expect(await Promise.all([mailboxes.open(MAILBOX), mailboxes.open(MAILBOX)])).toEqual([failure, failure]);
    expect(mailboxes.isOpen(MAILBOX)).toBe(false);
    topology.listening = null;
    expect(await mailboxes.open(MAILBOX)).toBe(null);
  });

  test('stays open when nobody waits: the next wait joins the line with its first ask', async () => {
    const { mailboxes, receiver } = setup();
    await mailboxes.open(MAILBOX);
    mailboxes.register(1, MAILBOX, receiver, 0);
    mailboxes.unregister(1);
    expect(mailboxes.isOpen(MAILBOX)).toBe(true);
  });

  test('tells a message to the wait that it names, and to no other', async () => {
    const { mailboxes, heard, receiver, tell } = setup();
    await mailboxes.open(MAILBOX);
    const others: (WaitMessage | null)[] = [];
    mailboxes.register(1, MAILBOX, receiver, 0);
    mailboxes.register(2, MAILBOX, (message) => others.push(message), 0);
    tell('g 1.1.x 7 1');
    tell('a 2.1.x 0');
    tell('no message of ours');
    expect([heard, others]).toEqual([[readMessage('g 1.1.x 7 1')], [readMessage('a 2.1.x 0')]]);
  });

  test('keeps a message that comes before its wait is registered, a grant rather than anything else', async () => {
    const { mailboxes, heard, receiver, tell } = setup();
    await mailboxes.open(MAILBOX);
    tell('a 1.1.x 5');
    tell('g 1.1.x 7 1');
    tell('a 1.1.x 0');
    mailboxes.register(1, MAILBOX, receiver, 0);
    expect(heard).toEqual([readMessage('g 1.1.x 7 1')]);
    mailboxes.unregister(1);
    mailboxes.register(1, MAILBOX, receiver, 0);
    expect(heard).toHaveLength(1);
  });

  test(`keeps such messages for at most ${UNCLAIMED_MAX} waits, the last`, async () => {
    const { mailboxes, heard, receiver, tell } = setup();
    await mailboxes.open(MAILBOX);
    for (let wait = 0; wait <= UNCLAIMED_MAX; wait += 1) tell(`g ${wait}.1.x 7 1`);
    for (let wait = 0; wait <= UNCLAIMED_MAX; wait += 1) mailboxes.register(wait, MAILBOX, receiver, 0);
    expect(heard).toHaveLength(UNCLAIMED_MAX);
    expect(heard[0]).toEqual(readMessage('g 1.1.x 7 1'));
  });

  test('tells all its waits, and those of no other channel, that messages may have been missed', async () => {
    const { mailboxes, heard, receiver, tell } = setup();
    const [a, b] = [mailboxOf('a'), mailboxOf('b')];
    await mailboxes.open(a);
    await mailboxes.open(b);
    mailboxes.register(1, a, receiver, 0);
    mailboxes.register(2, a, receiver, 0);
    mailboxes.register(3, b, () => heard.push('other'), 0);
    tell(null, a);
    expect(heard).toEqual([null, null]);
  });

  test('tells a wait that registers after messages may have been missed, if it asked before that', async () => {
    const { mailboxes, heard, receiver, tell } = setup();
    await mailboxes.open(MAILBOX);
    const before = mailboxes.resyncs;
    tell(null);
    mailboxes.register(1, MAILBOX, receiver, before);
    mailboxes.register(2, MAILBOX, () => heard.push('asked after it'), mailboxes.resyncs);
    expect(heard).toEqual([null]);
  });

  test('tells nothing more to a wait that is over', async () => {
    const { mailboxes, heard, receiver, tell } = setup();
    await mailboxes.open(MAILBOX);
    mailboxes.register(1, MAILBOX, receiver, 0);
    mailboxes.unregister(1);
    tell('g 1.1.x 7 1');
    tell(null);
    expect(heard).toEqual([]);
  });

  test('tells of a holder that a lock was taken away from', async () => {
    const { mailboxes, revoked, tell } = setup();
    await mailboxes.open(MAILBOX);
    tell('x s:7 revoked it is stuck');
    expect(revoked).toEqual(['s:7 it is stuck']);
  });
});

describe('the mailboxes of a cluster, one for each name', () => {
  test(`are at most ${MAILBOXES_MAX} once no more are in use: the oldest that no wait uses is shut`, async () => {
    const { mailboxes, receiver, topology } = setup();
    const all = Array.from({ length: MAILBOXES_MAX + 2 }, (_, i) => mailboxOf(`${i}`));
    const [first, second, third] = all as [Mailbox, Mailbox, Mailbox];
    for (const mailbox of all.slice(0, MAILBOXES_MAX)) await mailboxes.open(mailbox);
    mailboxes.register(1, first, receiver, 0);
    for (const mailbox of all.slice(MAILBOXES_MAX)) await mailboxes.open(mailbox);
    expect([first, second, third].map((each) => mailboxes.isOpen(each))).toEqual([true, false, false]);
    expect(topology.channels.names).toHaveLength(MAILBOXES_MAX);
  });

  test('are in use also by a wait that registered before its channel was open', async () => {
    const { mailboxes, receiver } = setup();
    const early = mailboxOf('early');
    mailboxes.register(1, early, receiver, 0);
    await mailboxes.open(early);
    for (let i = 0; i < MAILBOXES_MAX; i += 1) await mailboxes.open(mailboxOf(`${i}`));
    expect([mailboxes.isOpen(early), mailboxes.isOpen(mailboxOf('0'))]).toEqual([true, false]);
    mailboxes.unregister(1);
    await mailboxes.open(mailboxOf('one more'));
    expect(mailboxes.isOpen(early)).toBe(false);
  });
});
