/** What is running, and how to end it. */
export interface Telemetry {
  /** Unsubscribes from everything. A second call does nothing. */
  stop(): void;
  [Symbol.dispose](): void;
}

export function telemetryOf(end: () => void): Telemetry {
  let isRunning = true;
  const stop = (): void => {
    if (!isRunning) return;
    isRunning = false;
    end();
  };
  return { stop, [Symbol.dispose]: stop };
}
