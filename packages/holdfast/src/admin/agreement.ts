/** One answer from those of several servers: what a majority agrees on holds, whatever the others say. */
import type { Inspection } from './inspection.ts';

export function mostCommon(values: readonly string[]): string | undefined {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}

/** The inspection that at least `majority` servers share, or null: what fewer servers have is nobody's lock. */
export function agree(inspections: readonly (Inspection | null)[], majority: number): Inspection | null {
  const found = inspections.filter((inspection) => inspection !== null);
  const winner = mostCommon(found.map(identity));
  const agreed = found.filter((inspection) => identity(inspection) === winner);
  // The lock lasts until so many servers have expired it that fewer than a majority are left.
  const byLife = agreed.sort((a, b) => lifeMs(b) - lifeMs(a));
  const last = byLife[majority - 1];
  if (last === undefined) return null;
  if (last.kind === 'other' || last.kind === 'free') return last;
  const waiters = Math.max(...agreed.map((one) => (one.kind === 'other' ? 0 : one.waiters)));
  if (last.kind === 'mutex') return { ...last, waiters };
  const fences = agreed.flatMap((one) => ('fence' in one && one.fence !== undefined ? [one.fence] : []));
  return { ...last, waiters, fence: fences.length === 0 ? undefined : Math.max(...fences) };
}

function identity(inspection: Inspection): string {
  if (inspection.kind === 'free') return 'free';
  return `${inspection.kind} ${inspection.kind === 'other' ? inspection.found : inspection.owner}`;
}

/** -1 stands for no expiry. */
function lifeMs(inspection: Inspection): number {
  if (inspection.kind === 'free') return 0;
  return inspection.ttlMs < 0 ? Number.POSITIVE_INFINITY : inspection.ttlMs;
}
