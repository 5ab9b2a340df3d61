/** What is running, and how to end it. */
import type { Report } from './report.ts';

export interface Telemetry {
  /** Unsubscribes from everything. A second call does nothing. */
  stop(): void;
  [Symbol.dispose](): void;
}

/** The steps of the end are all taken, also when one of them throws: an exporter may. */
export function telemetryOf(report: Report, steps: readonly (() => void)[]): Telemetry {
  let isRunning = true;
  const stop = (): void => {
    if (!isRunning) return;
    isRunning = false;
    for (const step of steps) {
      try {
        step();
      } catch (error) {
        report('stop', `an error at the end was ignored: ${String(error)}`);
      }
    }
  };
  return { stop, [Symbol.dispose]: stop };
}
