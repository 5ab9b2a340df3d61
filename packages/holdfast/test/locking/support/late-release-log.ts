/** What became of the releases that were repeated in the background, as told on their channel. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach } from 'vitest';
import { CHANNELS, type LateReleaseMessage } from '../../../src/telemetry/channels.ts';

/** Noted for each test of the file from its start. */
export function useLateReleaseLog(): { outcomes: LateReleaseMessage['outcome'][] } {
  const log: { outcomes: LateReleaseMessage['outcome'][] } = { outcomes: [] };
  const note = (message: unknown): void => {
    log.outcomes.push((message as LateReleaseMessage).outcome);
  };
  beforeEach(() => {
    log.outcomes = [];
    subscribe(CHANNELS.lateRelease, note);
  });
  afterEach(() => {
    unsubscribe(CHANNELS.lateRelease, note);
  });
  return log;
}
