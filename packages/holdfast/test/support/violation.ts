/**
 * What a lock must never do, on whatever machine: two owners at once, a fence that does not grow, an owner that is not
 * told in time. A test that tries again beside a stall never tries this again.
 */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** Says which rule an expectation is about: its failure is a violation, and no stall excuses it. */
export function always<Result>(expectation: () => Result): Result {
  try {
    return expectation();
  } catch (error) {
    throw new Violation(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

interface Told {
  readonly name?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
}

/** Whether it is one, or was caused by one. The runner hands errors on as plain objects, so their name counts. */
export function isViolation(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { name, cause, errors } = error as Told;
  if (name === 'Violation') return true;
  return isViolation(cause) || (Array.isArray(errors) && errors.some(isViolation));
}

interface Claim {
  readonly isHeld: boolean;
}

/** Whoever asks for what somebody holds gets nothing. If the holder does not hold it any more, that is its own matter. */
export function expectKeptOut(holder: Claim, other: unknown): void {
  if (other !== null && holder.isHeld) throw new Violation('two owners at once');
  if (other !== null) throw new Error('expected nobody else to get in, and the first owner has lost it');
}
