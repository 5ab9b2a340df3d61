/**
 * The order of one round. Each round begins with another participant, and every second round runs backwards: otherwise
 * each participant would always be measured right after the same other one.
 */
export function turnsOf<Item>(items: readonly Item[], round: number): Item[] {
  const step = round % 2 === 0 ? 1 : -1;
  const start = round % Math.max(items.length, 1);
  return items.map((_, turn) => items.at((start + step * turn) % items.length) as Item);
}
