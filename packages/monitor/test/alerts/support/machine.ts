/** Runs the state machine as a leader does, on times that a test gives. */
import { defaultSettings } from '../../../src/alerts/config/defaults.ts';
import type { AlertSettings, RuleSettings } from '../../../src/alerts/config/settings.ts';
import type { Alert } from '../../../src/alerts/machine/alert.ts';
import { type Announcement, announce } from '../../../src/alerts/machine/announce.ts';
import type { Mute } from '../../../src/alerts/machine/mute.ts';
import { type MachineState, step } from '../../../src/alerts/machine/step.ts';
import type { Judgement } from '../../../src/alerts/rules/rule.ts';

export const SERVER = 'redis-1:6379';

/** What one rule sees of one subject; null: the figures are too old. */
export function sees(
  rule: string,
  value: number | null,
  subject = SERVER,
  server: string | null = SERVER,
): Judgement {
  return seesAll(rule, value === null ? [] : [{ subject, value }], server, value === null);
}

export function seesAll(
  rule: string,
  all: readonly { subject: string; value: number }[],
  server: string | null = SERVER,
  isFrozen = false,
): Judgement {
  return {
    rule,
    observations: all.map(({ subject, value }) => ({
      subject,
      value,
      server,
      words: () => `value ${value}`,
    })),
    isFrozen: () => isFrozen,
  };
}

export function settingsWith(rules: Readonly<Record<string, Partial<RuleSettings>>> = {}): AlertSettings {
  const settings = defaultSettings('shop');
  const changed = Object.entries(rules).map(([id, change]) => {
    const standard = settings.rules.get(id);
    if (standard === undefined) throw new Error(`expected the name of a rule, got ${id}`);
    return [id, { ...standard, ...change }] as const;
  });
  return { ...settings, rules: new Map([...settings.rules, ...changed]) };
}

export class MachineRun {
  mutes: Mute[] = [];
  #settings: AlertSettings;
  #state: MachineState = { alerts: new Map(), incidents: 0 };
  #nowMs = 1_000_000;

  constructor(settings: AlertSettings = settingsWith()) {
    this.#settings = settings;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get alerts(): Alert[] {
    return [...this.#state.alerts.values()];
  }

  use(settings: AlertSettings): void {
    this.#settings = settings;
  }

  /** As a takeover does: through JSON. */
  reload(): void {
    const alerts: [string, Alert][] = JSON.parse(JSON.stringify([...this.#state.alerts]));
    this.#state = { alerts: new Map(alerts), incidents: this.#state.incidents };
  }

  /** Sees this for so long, once a second, and gives what is announced, as `firing memory-high redis-1:6379`. */
  see(seconds: number, ...judgements: readonly Judgement[]): string[] {
    const said: string[] = [];
    for (let passed = 0; passed < seconds; passed += 1) {
      said.push(...this.once(...judgements).map(describe));
      this.#nowMs += 1_000;
    }
    return said;
  }

  once(...judgements: readonly Judgement[]): readonly Announcement[] {
    const { alerts, incidents } = step(this.#state, judgements, this.#settings, this.#nowMs);
    const { announcements, changed } = announce(alerts, this.mutes, this.#settings, this.#nowMs);
    const after = new Map([...alerts, ...changed.map((alert) => [alert.fingerprint, alert] as const)]);
    this.#state = { alerts: after, incidents };
    return announcements;
  }
}

function describe({ kind, rule, alerts }: Announcement): string {
  return `${kind} ${rule} ${alerts.map(({ subject, level }) => `${subject} ${level}`).join(', ')}`;
}
