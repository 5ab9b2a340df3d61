/**
 * A whole monitor whose rules fire at once, and what a real web server and a real mail server were told of each of them. In
 * the long form neither takes a message at the first try.
 */
import { Redis } from 'ioredis';
import { expect } from 'vitest';
import { during, waitFor } from '../../../../holdfast/test/support/wait-for.ts';
import { SettingsHolder } from '../../../src/alerts/config/holder.ts';
import { Secret } from '../../../src/alerts/config/secret.ts';
import type { RuleSettings } from '../../../src/alerts/config/settings.ts';
import type { Notice } from '../../../src/alerts/machine/notice.ts';
import { JUDGED_RULES } from '../../../src/alerts/rules/table.ts';
import type { MonitorOptions } from '../../../src/index.ts';
import { isLong } from '../../support/long.ts';
import { closing, TestMonitor } from '../../support/monitor.ts';
import { HttpReceiver } from './http-receiver.ts';
import { settingsWith } from './machine.ts';
import { MailReceiver } from './mail-receiver.ts';
import { mailReceiver, webReceiver } from './notices.ts';
import { type Kind, readMail, readWeb, TROUBLE_MS, Trouble } from './trouble.ts';

/** The monitor reads some settings of a server every ten seconds, and a busy machine is slow. */
const LIMIT_MS = 90_000;

let started = 0;

export class RuleWatch {
  readonly receiver: HttpReceiver;
  readonly mail: MailReceiver;
  readonly settings: SettingsHolder;
  readonly #redis: MonitorOptions['redis'];
  #monitor: TestMonitor;
  readonly #rules: readonly string[];
  readonly #trouble: Trouble | null;

  private constructor(
    redis: MonitorOptions['redis'],
    receiver: HttpReceiver,
    mail: MailReceiver,
    settings: SettingsHolder,
    rules: readonly string[],
    trouble: Trouble | null,
  ) {
    this.#redis = redis;
    this.#monitor = new TestMonitor({ redis, settings });
    this.receiver = receiver;
    this.mail = mail;
    this.settings = settings;
    this.#rules = rules;
    this.#trouble = trouble;
  }

  /**
   * `rules` are those that the test is about, with its thresholds; no rule waits before it fires or ends. `others` are told as
   * well, as receivers `other-1`, `other-2`.
   */
  static async start(
    redis: MonitorOptions['redis'],
    stateUrl: string,
    rules: Readonly<Record<string, Partial<RuleSettings>>>,
    others: readonly HttpReceiver[] = [],
  ): Promise<RuleWatch> {
    started += 1;
    const [receiver, mail] = await Promise.all([HttpReceiver.start(), MailReceiver.start()]);
    const atOnce = JUDGED_RULES.map(({ id }) => [id, { forMs: 0, keepForMs: 0, ...rules[id] }] as const);
    // The state of one test is nothing to the next.
    const fleet = `rules-${process.pid}-${started}`;
    const settings = new SettingsHolder({
      ...settingsWith(Object.fromEntries(atOnce)),
      fleet,
      groupMs: 0,
      stateUrl: new Secret(stateUrl),
      receivers: [
        webReceiver(receiver.url),
        mailReceiver(mail.url),
        ...others.map(({ url }, at) => webReceiver(url, 'webhook', `other-${at + 1}`)),
      ],
    });
    const about = Object.keys(rules);
    const trouble = isLong ? startTrouble(stateUrl, fleet, about, receiver, mail) : null;
    return new RuleWatch(redis, receiver, mail, settings, about, trouble);
  }

  get monitor(): TestMonitor {
    return this.#monitor;
  }

  /** Another monitor takes over, which knows what the state has and nothing else: the alert goes on firing. */
  async staysAfterRestart(rule: string): Promise<void> {
    await this.#monitor.monitor.close();
    this.#monitor = new TestMonitor({ redis: this.#redis, settings: this.settings });
    const isFiring = async (): Promise<boolean> =>
      (await this.#monitor.state()).alerts.some((view) => view.rule === rule && view.state === 'firing');
    await waitFor(isFiring, { limitMs: LIMIT_MS, what: `${rule} on the page of the next monitor` });
    // By the page, since receivers may hear of an end late. Locks and servers are seen within seconds, and no rule waits before it ends.
    await during(15_000, async () => expect(await isFiring(), `${rule} firing`).toBe(true));
  }

  /** `firing memory-high`, `resolved memory-high`, in the order in which they came. */
  get told(): string[] {
    return this.receiver.taken.map(readWeb).map(({ kind, rule }) => `${kind} ${rule}`);
  }

  /** The same of the mails. */
  get mailed(): string[] {
    return this.mail.taken.map(readMail).map(({ kind, rule }) => `${kind} ${rule}`);
  }

  /** What was told of a rule, firing and resolved. */
  notices(rule: string): Notice[] {
    return this.receiver.taken
      .map(({ body }) => body as unknown as Notice)
      .filter((notice) => notice.rule === rule);
  }

  /** The levels at which a rule was told to fire. */
  levels(rule: string): string[] {
    return this.notices(rule)
      .filter(({ kind }) => kind === 'firing')
      .map(({ level }) => level);
  }

  /** In the long form also: each message arrived at both once, under one key, after tries that failed. */
  async fires(...rules: string[]): Promise<void> {
    await this.#untilTold('firing', rules, LIMIT_MS);
  }

  async ends(...rules: string[]): Promise<void> {
    await this.#untilTold('resolved', rules, LIMIT_MS);
  }

  /** For rules that look back over minutes. */
  async endsWithin(limitMs: number, ...rules: string[]): Promise<void> {
    await this.#untilTold('resolved', rules, limitMs);
  }

  async #untilTold(kind: Kind, rules: readonly string[], limitMs: number): Promise<void> {
    expect(this.#rules).toEqual(expect.arrayContaining([...rules]));
    const missing = (): string[] =>
      rules.filter((rule) => ![this.told, this.mailed].every((one) => one.includes(`${kind} ${rule}`)));
    await waitFor(() => missing().length === 0, {
      limitMs: limitMs + (this.#trouble === null ? 0 : this.#rules.length * TROUBLE_MS),
      what: `${kind} of ${rules.join(', ')}`,
    }).catch((error: unknown) => {
      throw new Error(
        `${kind} was not told of ${missing().join(', ')}; told: ${this.told.join(', ')}; mailed: ${this.mailed.join(', ')}`,
        {
          cause: error,
        },
      );
    });
    for (const rule of rules) this.#trouble?.check(kind, rule);
  }
}

function startTrouble(
  stateUrl: string,
  fleet: string,
  rules: readonly string[],
  ops: HttpReceiver,
  mail: MailReceiver,
): Trouble {
  const redis = new Redis(stateUrl);
  redis.on('error', () => {});
  closing({ close: () => redis.disconnect() });
  return closing(new Trouble(redis, fleet, rules, { ops, mail }));
}
