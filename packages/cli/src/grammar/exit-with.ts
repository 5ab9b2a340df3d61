/** The exit code is the result of the command. */
export function exitWith(work: Promise<number>): Promise<void> {
  return work.then((code) => {
    process.exitCode = code;
  });
}
