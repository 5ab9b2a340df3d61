/** One lock in the table: five columns, or two lines in a narrow window. The row is a link to the lock's page. */
import type { JSX } from 'preact';
import type { Row } from '../../src/api/types.ts';
import { lockLink } from '../data/route.ts';
import { selected } from '../data/view.ts';
import { ownerWords, seconds, visible } from '../data/words.ts';
import { TimeLeft } from '../parts/time-left.tsx';

interface LockRowProps {
  readonly row: Row;
  readonly isGone: boolean;
  readonly now: number;
  readonly index: number;
  readonly total: number;
  readonly top: number;
  readonly isTabStop: boolean;
  readonly link: ((element: HTMLAnchorElement | null) => void) | null;
}

export function LockRow({ row, isGone, now, index, total, top, isTabStop, link }: LockRowProps): JSX.Element {
  const isSelected = selected.value === row.name;
  const look = `row${isSelected ? ' selected' : ''}${isGone ? ' gone' : ''}`;
  return (
    <li class={look} style={{ top: `${top}px` }} aria-posinset={index + 1} aria-setsize={total}>
      <a
        ref={link}
        href={lockLink(row.name)}
        draggable={false}
        tabIndex={isTabStop ? 0 : -1}
        data-lock={row.name}
        onFocus={() => {
          selected.value = row.name;
        }}
      >
        <span class="name" title={visible(row.name)}>
          {visible(row.name)}
          {row.kind === 'mutex' && <small class="kind">mutex</small>}
        </span>
        <OwnerCell row={row} />
        <span class="held">{heldWords(row, now)}</span>
        <span class="left">{isGone ? <span class="mark">gone</span> : <TimeLeft row={row} now={now} />}</span>
        <span class="waiting">{waitingWords(row, now)}</span>
      </a>
    </li>
  );
}

function OwnerCell({ row }: { readonly row: Row }): JSX.Element {
  if (row.kind === 'free') return <span class="owner quiet">nobody</span>;
  if (row.app === null && row.host === null) {
    return (
      <span class="owner quiet" title="No record of its session: only the id is known">
        {row.kind === 'mutex' ? 'not known' : ownerWords(row)}
      </span>
    );
  }
  return (
    <span class="owner" title={ownerWords(row)}>
      <b>{visible(row.app ?? '')}</b> {visible(row.host ?? '')} <span class="quiet">{row.pid}</span>
    </span>
  );
}

function heldWords(row: Row, now: number): JSX.Element | string {
  if (row.grantedAt === null) return '';
  const length = seconds(now - row.grantedAt);
  if (row.exact) return length;
  return <span title="At least: the monitor did not see it being taken">≥ {length}</span>;
}

function waitingWords(row: Row, now: number): JSX.Element | string {
  if (row.waiting === 0) return '';
  const first = row.firstWaitAt === null ? '' : `, first ${seconds(now - row.firstWaitAt)}`;
  return (
    <>
      <b>{row.waiting}</b>
      {first}
      <span class="unseen"> waiting</span>
    </>
  );
}
