/** A client that loses requests and replies, sends some twice, and has its scripts changed by a planted bug. */
import { createHash } from 'node:crypto';
import type { ManualClock } from 'holdfast-testing';
import { CallFailure, type Client, type ScriptCall, type ScriptText } from '../../../src/index.ts';

export interface ClientFaults {
  /** The share of calls that meet a fault. */
  readonly share: number;
  readonly random: () => number;
  /** Changes the text of scripts. */
  readonly change: ((text: ScriptText) => string) | undefined;
}

const changed = new Map<string, ScriptText>();

function changedText(text: ScriptText, change: (text: ScriptText) => string): ScriptText {
  const source = change(text);
  const sha = createHash('sha1').update(source).digest('hex');
  const known = changed.get(sha);
  if (known !== undefined) return known;
  const made = { name: text.name, source, sha };
  changed.set(sha, made);
  return made;
}

function later(clock: ManualClock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.startTimer(delayMs, resolve);
  });
}

export function faultyClient(
  client: Client,
  clock: ManualClock,
  { share, random, change }: ClientFaults,
): Client {
  const run: Client['run'] = async (call, timeoutMs) => {
    const sent: ScriptCall =
      change === undefined ? call : { ...call, script: changedText(call.script, change) };
    const fault = random() < share ? Math.floor(random() * 4) : -1;
    if (fault === 0) {
      // The request is lost.
      await later(clock, timeoutMs);
      return new CallFailure('unknown', 'the request was lost');
    }
    if (fault === 1) {
      // The reply is lost.
      await client.run(sent, timeoutMs);
      await later(clock, timeoutMs);
      return new CallFailure('unknown', 'the reply was lost');
    }
    if (fault === 2) {
      // A copy arrives again, later.
      void later(clock, Math.floor(random() * 3_000)).then(() => client.run(sent, timeoutMs));
    }
    if (fault === 3) await later(clock, Math.floor(random() * 400));
    return client.run(sent, timeoutMs);
  };
  return new Proxy(client, {
    get: (target, property) => {
      if (property === 'run') return run;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
