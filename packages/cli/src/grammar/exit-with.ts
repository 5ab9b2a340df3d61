/**
 * The exit code is the result of the command.
 *
 * In this folder: arguments, options and help of the larger groups of commands; `program.ts` has the others. Only
 * `program.ts` imports from here.
 */
export function exitWith(work: Promise<number>): Promise<void> {
  return work.then((code) => {
    process.exitCode = code;
  });
}
