/**
 * How far a run goes. `npm test` asks every rule once, of one row of each kind; `npm run test:matrix` asks it of every
 * client, setting and server that is there, and lets the crowds work longer.
 */
const isMatrixRun = process.env['HOLDFAST_MATRIX'] === '1';

/** A row that says so is of the matrix only: another row of `npm test` asks the same of the same code. */
export interface Extent {
  /** @default false */
  readonly isMatrix?: boolean;
}

/** The rows of this run. */
export function rowsOf<Row extends Extent>(rows: readonly Row[]): readonly Row[] {
  return isMatrixRun ? rows : rows.filter(({ isMatrix = false }) => !isMatrix);
}

/** One number for `npm test`, another for the matrix. */
export function upTo(briefly: number, atLength: number): number {
  return isMatrixRun ? atLength : briefly;
}
