// Whether this is a machine of CI: there, what a test needs and cannot get is a failure, and nothing is left out.

/**
 * As CI systems set it. People take it back with `CI=false`.
 *
 * @param {Readonly<Record<string, string | undefined>>} env
 */
export function isCi(env = process.env) {
  return !['', '0', 'false'].includes(env['CI'] ?? '');
}
