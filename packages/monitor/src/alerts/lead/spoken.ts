/** Takes what was said while the state was away into the state: the incident goes on under the key that receivers know. */
import { type Alert, INACTIVE } from '../machine/alert.ts';
import type { MachineState } from '../machine/step.ts';
import type { Spoken } from '../state/stored.ts';

export function takeSpoken(state: MachineState, spoken: readonly Spoken[]): MachineState {
  if (spoken.length === 0) return state;
  const alerts = new Map(state.alerts);
  let { incidents } = state;
  for (const one of spoken) {
    const known = alerts.get(one.fingerprint);
    if (known?.state === 'firing' && known.told !== null) continue;
    incidents += 1;
    alerts.set(one.fingerprint, toAlert(one, incidents));
  }
  return { alerts, incidents };
}

function toAlert({ fingerprint, server, summary, sinceMs, firedAtMs }: Spoken, counter: number): Alert {
  return {
    fingerprint,
    rule: 'redis-unreachable',
    subject: server,
    server,
    tracks: { warning: INACTIVE, critical: { phase: 'firing', sinceMs, wellSinceMs: null } },
    state: 'firing',
    level: 'critical',
    sinceMs,
    firedAtMs,
    resolvedAtMs: null,
    incident: `${fingerprint}.${counter}`,
    key: fingerprint,
    summary,
    evidence: null,
    due: null,
    told: { levels: ['critical'], atMs: firedAtMs },
  };
}
