// Whether CI runs this: there a missing server or tool is a failure, and no test is left out.

/**
 * CI systems set `CI`. `CI=false` unsets it by hand.
 *
 * @param {Readonly<Record<string, string | undefined>>} env
 */
export function isCi(env = process.env) {
  return !['', '0', 'false'].includes(env['CI'] ?? '');
}
