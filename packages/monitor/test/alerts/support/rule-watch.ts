/** A whole monitor whose rules fire at once, and what a real web server and a real mail server were told of each of them. */
import { waitFor } from '../../../../holdfast/test/support/wait-for.ts';
import { SettingsHolder } from '../../../src/alerts/config/holder.ts';
import { Secret } from '../../../src/alerts/config/secret.ts';
import type { RuleSettings } from '../../../src/alerts/config/settings.ts';
import type { Notice } from '../../../src/alerts/machine/notice.ts';
import { JUDGED_RULES } from '../../../src/alerts/rules/table.ts';
import type { MonitorOptions } from '../../../src/index.ts';
import { TestMonitor } from '../../support/monitor.ts';
import { HttpReceiver } from './http-receiver.ts';
import { settingsWith } from './machine.ts';
import { MailReceiver } from './mail-receiver.ts';
import { mailReceiver, webReceiver } from './notices.ts';

/** The monitor reads some settings of a server every ten seconds, and a busy machine is slow. */
const LIMIT_MS = 90_000;

let started = 0;

export class RuleWatch {
  readonly monitor: TestMonitor;
  readonly receiver: HttpReceiver;
  readonly mail: MailReceiver;

  private constructor(monitor: TestMonitor, receiver: HttpReceiver, mail: MailReceiver) {
    this.monitor = monitor;
    this.receiver = receiver;
    this.mail = mail;
  }

  /**
   * `rules` has the thresholds of the test; no rule waits before it fires or ends. `others` are told as well, as receivers
   * `other-1`, `other-2`.
   */
  static async start(
    redis: MonitorOptions['redis'],
    stateUrl: string,
    rules: Readonly<Record<string, Partial<RuleSettings>>> = {},
    others: readonly HttpReceiver[] = [],
  ): Promise<RuleWatch> {
    started += 1;
    const [receiver, mail] = await Promise.all([HttpReceiver.start(), MailReceiver.start()]);
    const atOnce = JUDGED_RULES.map(({ id }) => [id, { forMs: 0, keepForMs: 0, ...rules[id] }] as const);
    const settings = new SettingsHolder({
      ...settingsWith(Object.fromEntries(atOnce)),
      // The state of one test is nothing to the next.
      fleet: `rules-${process.pid}-${started}`,
      groupMs: 0,
      stateUrl: new Secret(stateUrl),
      receivers: [
        webReceiver(receiver.url),
        mailReceiver(mail.url),
        ...others.map(({ url }, at) => webReceiver(url, 'webhook', `other-${at + 1}`)),
      ],
    });
    return new RuleWatch(new TestMonitor({ redis, settings }), receiver, mail);
  }

  /** `firing memory-high`, `resolved memory-high`, in the order in which they came. */
  get told(): string[] {
    return this.receiver.taken.map(({ body }) => {
      const { kind, rule } = body as unknown as Notice;
      return `${kind} ${rule}`;
    });
  }

  /** The same of the mails. */
  get mailed(): string[] {
    return this.mail.taken.map((text) => {
      const kind = /^Subject: \[resolved,/m.test(text) ? 'resolved' : 'firing';
      return `${kind} ${/^X-Holdfast-Rule: (\S+)/m.exec(text)?.[1]}`;
    });
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

  async fires(...rules: string[]): Promise<void> {
    await this.#untilTold('firing', rules);
  }

  async ends(...rules: string[]): Promise<void> {
    await this.#untilTold('resolved', rules);
  }

  async #untilTold(kind: string, rules: readonly string[]): Promise<void> {
    const missing = (): string[] =>
      rules.filter((rule) => ![this.told, this.mailed].every((one) => one.includes(`${kind} ${rule}`)));
    await waitFor(() => missing().length === 0, {
      limitMs: LIMIT_MS,
      what: `${kind} of ${rules.join(', ')}`,
    }).catch((error: unknown) => {
      throw new Error(
        `${kind} was not told of ${missing().join(', ')}; told: ${this.told.join(', ')}; mailed: ${this.mailed.join(', ')}`,
        {
          cause: error,
        },
      );
    });
  }
}
