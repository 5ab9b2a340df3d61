/** Words of which requests are made: few, so that they meet. */

/** One name has bytes beyond ASCII. */
export const KEYS = ['a', 'b', 'c', 'ключ'] as const;

export const HOLDERS = [
  'b7e1cbb4-3a52-4bd7-9e6e-6d0f5a4f6b11:1',
  'b7e1cbb4-3a52-4bd7-9e6e-6d0f5a4f6b11:2',
  '0f5a4f6b-1111-4bd7-9e6e-b7e1cbb43a52:1',
  'eigentümer',
] as const;

/**
 * Leases end five seconds after or before a step of time, however many steps there were: what a run takes in real
 * time decides nothing.
 */
export const LEASES_MS = ['15000', '25000', '65000', '105000'] as const;
export const LEASES_S = ['15', '25', '105'] as const;

/** How far time moves at once. */
export const STEPS_MS = [10_000, 20_000, 50_000] as const;
