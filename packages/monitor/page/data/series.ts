/**
 * The history of one server while its card is shown: fetched once, then grown by the live figures, so that a plot costs
 * nothing while it is looked at. A gap in the figures stays a gap.
 */
import type { History, SeriesName, ServerCard } from '../../src/api/types.ts';
import { get } from './http.ts';

/** What the plots show; each is also a field of the card. */
export const PLOTTED = [
  'memoryUsed',
  'cpu',
  'clients',
  'commandsPerSecond',
  'roundTripP50Ms',
  'roundTripP99Ms',
] as const satisfies readonly (SeriesName & keyof ServerCard)[];
export type PlottedName = (typeof PLOTTED)[number];

export type Columns = Readonly<Record<PlottedName, (number | null)[]>> & { readonly times: number[] };

const POINTS_MAX = 720;

export async function fetchColumns(server: string): Promise<{ columns: Columns; stepMs: number }> {
  const query = `server=${encodeURIComponent(server)}&series=${PLOTTED.join(',')}`;
  const { body } = await get<History>(`api/v1/servers/history?${query}`);
  const gap = body.times.map(() => null);
  const series = Object.fromEntries(PLOTTED.map((name) => [name, [...(body.series[name] ?? gap)]])) as Record<
    PlottedName,
    (number | null)[]
  >;
  return { columns: { ...series, times: [...body.times] }, stepMs: body.stepMs };
}

/** Adds the card's figures when the last point is a step old. `true` when it did. */
export function grow(columns: Columns, card: ServerCard, at: number, stepMs: number): boolean {
  const last = columns.times.at(-1) ?? 0;
  if (at - last < stepMs) return false;
  const isUp = card.health === 'up';
  columns.times.push(at);
  for (const name of PLOTTED) columns[name].push(isUp ? card[name] : null);
  if (columns.times.length > POINTS_MAX) {
    columns.times.shift();
    for (const name of PLOTTED) columns[name].shift();
  }
  return true;
}
