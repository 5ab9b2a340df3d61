/**
 * Speaks while the Redis that holds the state is away. Without it nobody can lead, so every monitor judges by itself, in
 * memory, and only whether servers can be reached. The monitor that led last speaks at once. The others wait a minute,
 * in case it is gone too, and say that they are a second voice. All use the fingerprint as key, so receivers that merge by
 * key show one incident. When the state is back, what was said is written into it, and the leader tells the end.
 */
import type { Clock } from 'holdfast';
import type { Figures } from '../../figures.ts';
import { type AlertSettings, type Receiver, secretsOf } from '../config/settings.ts';
import { judgeAttempt } from '../delivery/attempt.ts';
import { Nap } from '../delivery/nap.ts';
import type { Alert } from '../machine/alert.ts';
import { isFor, makeNotice, type Notice, type Voice } from '../machine/notice.ts';
import { type MachineState, step } from '../machine/step.ts';
import { send } from '../receivers/send.ts';
import { CounterWindows } from '../rules/counter-window.ts';
import { observeServers } from '../rules/observe-servers.ts';
import type { Judgement, Observation } from '../rules/rule.ts';
import type { Spoken } from '../state/stored.ts';

const RULE = 'redis-unreachable';
const STATE_SUBJECT = 'the state of the alerts';

/** Long enough for the last leader to be heard. */
const SECOND_VOICE_MS = 60_000;

export interface OutageSituation {
  /** Why the state does not answer; null while it does. */
  readonly away: string | null;
  readonly ledLast: boolean;
  /** The alerts as they were last read from the state. */
  readonly known: ReadonlyMap<string, Alert>;
}

export interface OutageSurroundings {
  readonly clock: Clock;
  chance(): number;
  print(line: string): void;
  log(line: string): void;
}

interface Told {
  readonly alert: Alert;
  readonly receivers: Set<string>;
}

export class OutageVoice {
  readonly #around: OutageSurroundings;
  #machine: MachineState = { alerts: new Map(), incidents: 0 };
  #told = new Map<string, Told>();
  #errands = new AbortController();
  /** The last message to each receiver: the next one waits for it. */
  #queues = new Map<string, Promise<void>>();

  constructor(around: OutageSurroundings) {
    this.#around = around;
  }

  /** Judges always, so that the time before the state went away counts too; speaks only while it is away. */
  tick(
    figures: Figures,
    { away, ledLast, known }: OutageSituation,
    settings: AlertSettings,
    nowMs: number,
  ): void {
    const judgement = judge(figures, away);
    this.#machine = step(this.#machine, [judgement], settings, nowMs);
    if (away === null) return;
    const voice: Voice = ledLast ? 'last-leader' : 'second-voice';
    const waitMs = ledLast ? 0 : SECOND_VOICE_MS;
    for (const alert of this.#machine.alerts.values()) {
      const { fingerprint, state } = alert;
      const isKnown = known.get(fingerprint)?.state === 'firing' && known.get(fingerprint)?.told !== null;
      const isRipe = nowMs - (alert.firedAtMs ?? nowMs) >= waitMs;
      if (state === 'firing' && !isKnown && isRipe && !this.#told.has(fingerprint))
        this.#say({ ...alert, key: fingerprint }, 'firing', voice, settings, nowMs);
      if (state === 'resolved' && this.#told.has(fingerprint)) this.#sayEnd(alert, voice, settings, nowMs);
    }
  }

  /** The state is back: what was said, to be written into it. Messages that are still on their way are given up. */
  takeSpoken(): Spoken[] {
    if (this.#told.size === 0 && this.#queues.size === 0) return [];
    this.#errands.abort();
    this.#errands = new AbortController();
    this.#queues = new Map();
    const spoken = [...this.#told.values()].filter(({ receivers }) => receivers.size > 0);
    this.#told = new Map();
    return spoken.map(({ alert, receivers }) => ({
      fingerprint: alert.fingerprint,
      server: alert.subject,
      summary: alert.summary,
      sinceMs: alert.sinceMs,
      firedAtMs: alert.firedAtMs ?? alert.sinceMs,
      receivers: [...receivers],
    }));
  }

  /** What was said could not be written into the state: `takeSpoken` returns it again. */
  giveBack(spoken: Spoken): void {
    const alert = this.#machine.alerts.get(spoken.fingerprint);
    if (alert !== undefined)
      this.#told.set(spoken.fingerprint, { alert, receivers: new Set(spoken.receivers) });
  }

  close(): void {
    this.#errands.abort();
  }

  #say(
    alert: Alert,
    kind: 'firing' | 'resolved',
    voice: Voice,
    settings: AlertSettings,
    nowMs: number,
  ): void {
    const told: Told = { alert, receivers: new Set() };
    if (kind === 'firing') this.#told.set(alert.fingerprint, told);
    const key = kind === 'firing' ? alert.fingerprint : `${alert.fingerprint}.end`;
    const said: Alert = { ...alert, told: { levels: [alert.level], atMs: nowMs } };
    const notice: Notice = { ...makeNotice({ kind, rule: RULE }, [said], settings.fleet, key, nowMs), voice };
    for (const receiver of settings.receivers) {
      if (!isFor(receiver, kind, said)) continue;
      const before = this.#queues.get(receiver.name) ?? Promise.resolve();
      const { signal } = this.#errands;
      const errand = before.then(() => this.#bring(receiver, notice, settings, told, signal));
      this.#queues.set(receiver.name, errand);
    }
    this.#around.log(
      `the state of the alerts is away; as ${voice}: ${alert.subject} ${alert.summary} (${kind})`,
    );
  }

  #sayEnd(alert: Alert, voice: Voice, settings: AlertSettings, nowMs: number): void {
    this.#told.delete(alert.fingerprint);
    this.#say({ ...alert, key: alert.fingerprint }, 'resolved', voice, settings, nowMs);
  }

  async #bring(
    receiver: Receiver,
    notice: Notice,
    settings: AlertSettings,
    told: Told,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, print, chance } = this.#around;
    const beganMs = clock.monotonicMs();
    for (let tries = 1; !signal.aborted; tries += 1) {
      const attempt = await send(receiver, notice, { clock, secrets: secretsOf(settings), print });
      const verdict = judgeAttempt(attempt, tries, clock.monotonicMs() - beganMs, chance());
      if (verdict.is === 'sent') told.receivers.add(receiver.name);
      if (verdict.is !== 'retry') return;
      await new Nap(clock).sleep(verdict.afterMs, signal);
    }
  }
}

/** Whether servers can be reached; and, when all can, that the state cannot. */
function judge(figures: Figures, away: string | null): Judgement {
  const [judgement] = observeServers(figures, new CounterWindows(), []).filter(({ rule }) => rule === RULE);
  const observations: Observation[] = [...(judgement?.observations ?? [])];
  const isElsewhere = away !== null && observations.every(({ value }) => value === 0);
  observations.push({
    subject: STATE_SUBJECT,
    value: isElsewhere ? 1 : 0,
    words: () => away ?? '',
    server: null,
  });
  return { rule: RULE, observations, isFrozen: () => false };
}
