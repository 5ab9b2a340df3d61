/** How far a run goes: `npm run test:interop`, or its short form with `--quick`. */
const isQuick = process.env['HOLDFAST_INTEROP_QUICK'] === '1';

/** One number for the short form, another for the whole run. */
export function upTo(quick: number, whole: number): number {
  return isQuick ? quick : whole;
}
