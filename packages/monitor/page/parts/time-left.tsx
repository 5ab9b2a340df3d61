/** How much of its lease a hold has left: a bar, a figure, and a word where something is wrong. */
import type { JSX } from 'preact';
import type { Row } from '../../src/api/types.ts';
import { type Condition, conditionOf } from '../data/order.ts';
import { seconds } from '../data/words.ts';
import { Shape, type ShapeName } from './marks.tsx';

const SHAPES: Readonly<Partial<Record<Condition, ShapeName>>> = {
  late: 'triangle',
  'no expiry': 'endless',
  'owner gone': 'cross',
  overdue: 'ring',
  free: 'ring',
  split: 'half',
};

const MEANINGS: Readonly<Partial<Record<Condition, string>>> = {
  late: 'The owner renews its lease, but has not for two thirds of it.',
  'no expiry': 'The key has no expiry: it blocks for ever.',
  'owner gone': "The record of the owner's session is gone, and the lease is not renewed: its process died.",
  overdue: 'By the last look its time is over. The next look tells.',
  free: 'Nobody holds it; the first in line has not taken it yet.',
  split: 'No majority of the servers names this owner.',
};

function wordOf(condition: Condition, row: Row): string | null {
  if (condition === 'ok') return null;
  if (condition === 'split' && row.votes !== null) return `${row.votes.has} of ${row.votes.of} votes`;
  return condition;
}

function ConditionMark({ row, now }: { readonly row: Row; readonly now: number }): JSX.Element | null {
  const condition = conditionOf(row, now);
  const word = wordOf(condition, row);
  if (word === null) return null;
  return (
    <span class={`mark is-${condition.replace(' ', '-')}`} title={MEANINGS[condition]}>
      <Shape name={SHAPES[condition] ?? 'ring'} /> {word}
    </span>
  );
}

/** Share of the lease that is left, 0 to 1; `null` where the lease is not known yet. */
function shareLeft(row: Row, now: number): number | null {
  if (row.kind === 'free') return 0;
  if (row.expiresAt === null) return 1;
  if (row.leaseMs === null || row.leaseMs <= 0) return null;
  return Math.min(1, Math.max(0, (row.expiresAt - now) / row.leaseMs));
}

export function TimeLeft({ row, now }: { readonly row: Row; readonly now: number }): JSX.Element {
  const condition = conditionOf(row, now);
  const share = shareLeft(row, now);
  const look = share === null ? 'unknown' : condition.replace(' ', '-');
  return (
    <>
      <span class={`bar bar-${look}`} aria-hidden="true">
        <span class="fill" style={{ width: `${Math.round((share ?? 0) * 100)}%` }} />
      </span>
      {row.expiresAt !== null && <span class="figure">{seconds(row.expiresAt - now)}</span>}
      <ConditionMark row={row} now={now} />
    </>
  );
}
