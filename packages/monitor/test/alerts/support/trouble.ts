/**
 * Receivers that no message reaches at the first try, for the long form. Of each rule that a test is about, the first
 * message that it fires meets a receiver that asks for patience (429 with Retry-After, 451) and is then gone: the next
 * try finds nobody who listens, and the receiver comes back after that. The first message that it ended meets a receiver
 * that hangs.
 */
import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { waitFor } from '../../../../holdfast/test/support/wait-for.ts';
import { stateKeys } from '../../../src/alerts/state/keys.ts';
import { type HttpReceiver, LEAVE_RETRY_AFTER_MS } from './http-receiver.ts';
import type { MailReceiver } from './mail-receiver.ts';

/** What one rule costs: a try that hangs for ten seconds, what the receiver asks for, and the delays of the courier. */
export const TROUBLE_MS = 30_000;

export type Kind = 'firing' | 'resolved';
type TroubleManner = 'take' | 'leave' | 'hang';

/** One message, as it came at a receiver. */
interface Message {
  /** The same whenever it is sent. */
  readonly key: string;
  readonly kind: string;
  readonly rule: string;
}

interface Try extends Message {
  readonly manner: string | number;
  readonly atMs: number | null;
}

const MANNERS: Readonly<Record<Kind, readonly TroubleManner[]>> = {
  firing: ['leave', 'take'],
  resolved: ['hang', 'take'],
};

export function readWeb({
  headers,
  body,
}: Pick<HttpReceiver['received'][number], 'headers' | 'body'>): Message {
  return { key: String(headers['idempotency-key']), kind: String(body['kind']), rule: String(body['rule']) };
}

export function readMail(text: string): Message {
  const [mark = ''] = /^Subject: \[\w+/m.exec(text) ?? [];
  return {
    key: /^Message-ID: <holdfast\.([^@]+)@/m.exec(text)?.[1] ?? '',
    kind: mark.endsWith('[resolved') ? 'resolved' : mark.endsWith('[still') ? 'repeat' : 'firing',
    rule: /^X-Holdfast-Rule: (\S+)/m.exec(text)?.[1] ?? '',
  };
}

/** The trouble that one receiver makes. */
class Troublemaker {
  readonly #name: string;
  readonly #rules: readonly string[];
  readonly #tries: () => Try[];
  /** Resolves when the outbox has it that nobody listened, and somebody does again. */
  readonly #comeBack: (delivery: string) => Promise<void>;
  /** The message that meets trouble, by kind and rule. */
  readonly #chosen = new Map<string, string>();
  #failure: unknown = null;

  constructor(
    name: string,
    rules: readonly string[],
    tries: () => Try[],
    comeBack: (delivery: string) => Promise<void>,
  ) {
    this.#name = name;
    this.#rules = rules;
    this.#tries = tries;
    this.#comeBack = comeBack;
  }

  choose({ key, kind, rule }: Message): TroubleManner {
    if (!this.#rules.includes(rule) || !(kind in MANNERS)) return 'take';
    if (this.#chosen.has(`${kind} ${rule}`)) return 'take';
    this.#chosen.set(`${kind} ${rule}`, key);
    const [manner = 'take'] = MANNERS[kind as Kind];
    if (manner === 'leave')
      this.#comeBack(`${key}@${this.#name}`).catch((error: unknown) => {
        this.#failure ??= error;
      });
    return manner;
  }

  /** The key of the message that came through trouble. */
  check(kind: Kind, rule: string): string | undefined {
    if (this.#failure !== null) throw this.#failure;
    const what = `${this.#name}: ${kind} ${rule}`;
    const all = this.#tries().filter((one) => one.kind === kind && one.rule === rule);
    const key = this.#chosen.get(`${kind} ${rule}`);
    const own = all.filter((one) => one.key === key);
    expect(
      own.map(({ manner }) => manner),
      what,
    ).toEqual(MANNERS[kind]);
    const taken = all.filter(({ manner }) => manner === 'take').map((one) => one.key);
    expect(taken, `${what}, once for each key`).toEqual([...new Set(taken)]);
    const [first, second] = own.map(({ atMs }) => atMs);
    if (kind === 'firing' && typeof first === 'number' && typeof second === 'number')
      expect(second - first, `${what}, after as long as was asked for`).toBeGreaterThan(LEAVE_RETRY_AFTER_MS);
    return key;
  }
}

export class Trouble {
  readonly #web: Troublemaker;
  readonly #mail: Troublemaker;
  #isOver = false;

  /** `redis` holds the state of the alerts; both receivers are named as in the configuration. */
  constructor(
    redis: Redis,
    fleet: string,
    rules: readonly string[],
    receivers: { readonly ops: HttpReceiver; readonly mail: MailReceiver },
  ) {
    const { ops, mail } = receivers;
    const refused = (delivery: string): Promise<unknown> =>
      waitFor(
        async () =>
          this.#isOver || (await redis.hget(stateKeys(fleet).tries, delivery))?.includes('ECONNREFUSED'),
        { limitMs: TROUBLE_MS, what: `a try of ${delivery} that found nobody` },
      );
    const comeBack =
      (receiver: { listen(): Promise<void> }) =>
      async (delivery: string): Promise<void> => {
        await refused(delivery);
        if (!this.#isOver) await receiver.listen();
      };
    const webTries = (): Try[] =>
      ops.received.map((one) => ({ ...readWeb(one), manner: one.manner, atMs: one.atMs }));
    const mailTries = (): Try[] =>
      mail.mails.map(({ text, manner }) => ({ ...readMail(text), manner, atMs: null }));
    this.#web = new Troublemaker('ops', rules, webTries, comeBack(ops));
    this.#mail = new Troublemaker('mail', rules, mailTries, comeBack(mail));
    ops.choose = (one) => this.#web.choose(readWeb(one));
    mail.choose = (text) => this.#mail.choose(readMail(text));
  }

  /** Both receivers took the message under one key, once, and neither at the first try. */
  check(kind: Kind, rule: string): void {
    expect(this.#mail.check(kind, rule), `${kind} ${rule}: the key at both`).toBe(
      this.#web.check(kind, rule),
    );
  }

  close(): void {
    this.#isOver = true;
  }
}
