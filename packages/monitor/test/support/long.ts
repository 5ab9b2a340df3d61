/** Whether the long form was asked for: `npm run test:monitor`, `npm run test:alerts`. `npm test` has the short one. */

export const isLong: boolean = process.env['HOLDFAST_MONITOR_TESTS'] === 'long';

/** For what waits for minutes that a rule or a server takes. */
export const LONG_TEST: { readonly timeout: number } = { timeout: 900_000 };
