/** What went wrong inside the telemetry, as warnings of the process: once for each subject, so that no log is flooded. */

/** `about` names the subject. */
export type Report = (about: string, message: string) => void;

export function newReport(): Report {
  const reported = new Set<string>();
  return (about, message) => {
    if (reported.has(about)) return;
    reported.add(about);
    process.emitWarning(`holdfast-telemetry: ${message}`, {
      type: 'HoldfastWarning',
      code: 'HOLDFAST_TELEMETRY',
    });
  };
}
