/** What random histories begin from, so that a run repeats the one before. `HOLDFAST_SEED` plays others. */
export const SEED: number = Number(process.env['HOLDFAST_SEED'] ?? 1);
