/**
 * Locks: who holds, who waits, is it moving?
 *
 * In this folder: one file for each page, and the parts that only one page has. Only `app.tsx` imports from here.
 */
import type { JSX } from 'preact';
import { now } from '../data/clock.ts';
import { SHOWS, SORTS, type Sort } from '../data/order.ts';
import { picture } from '../data/store.ts';
import { choice, keptBecause, newcomers, order } from '../data/view.ts';
import { count, duration, seconds } from '../data/words.ts';
import { Empty, Skeleton } from '../parts/states.tsx';
import { LockRows } from './lock-rows.tsx';

export function LocksPage(): JSX.Element {
  return (
    <main class="locks">
      <h1 class="unseen">Locks</h1>
      <Toolbar />
      <div class="columns" aria-hidden="true">
        <span>Lock</span>
        <span>Owner</span>
        <span>Held</span>
        <span>Time left</span>
        <span>Waiting</span>
      </div>
      <Content />
      <StatusLine />
    </main>
  );
}

function Content(): JSX.Element {
  if (picture.value === null) return <Skeleton rows={12} />;
  if (order.value.length > 0) return <LockRows />;
  return picture.value.totals.held + picture.value.totals.waiting === 0 ? <NoLocks /> : <NoneFits />;
}

function Toolbar(): JSX.Element {
  const { text, show, sort } = choice.value;
  return (
    <search class="toolbar">
      <input
        id="filter"
        type="search"
        placeholder="/ filter by name or owner"
        aria-label="Filter by name or owner"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          choice.value = { ...choice.value, text: event.currentTarget.value };
        }}
      />
      <fieldset class="shows">
        <legend class="unseen">Show</legend>
        {SHOWS.map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === show}
            onClick={() => {
              choice.value = { ...choice.value, show: name };
            }}
          >
            {name}
          </button>
        ))}
      </fieldset>
      <label class="sort">
        sort{' '}
        <select
          value={sort}
          onChange={(event) => {
            choice.value = { ...choice.value, sort: event.currentTarget.value as Sort };
          }}
        >
          {SORTS.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </search>
  );
}

function surveyWords(): string {
  const survey = picture.value?.survey;
  if (survey === undefined) return '';
  if (survey.passedAt === null) return `Looking for locks: ${count(survey.keysNow)} keys so far.`;
  const pass =
    survey.tookMs !== null && survey.tookMs > 20_000 ? `, a pass takes ${duration(survey.tookMs)}` : '';
  return `Surveyed ${count(survey.keys)} keys ${seconds(now.value - survey.passedAt)} ago${pass}.`;
}

function NoLocks(): JSX.Element {
  return (
    <Empty title={picture.value?.survey.passedAt === null ? 'No lock seen yet' : 'Nobody holds a lock'}>
      <p>{surveyWords()}</p>
      <p>Take one and see it here:</p>
      <pre>holdfast run try-me -- sleep 30</pre>
    </Empty>
  );
}

function NoneFits(): JSX.Element {
  const { text, show } = choice.value;
  const held = picture.value?.totals.held ?? 0;
  return (
    <Empty title={text === '' ? `No lock is ${show}` : `No lock fits “${text}”`}>
      <p>{count(held)} are held.</p>
      <button
        type="button"
        class="primary"
        onClick={() => {
          choice.value = { ...choice.value, text: '', show: 'all' };
        }}
      >
        Show all
      </button>
    </Empty>
  );
}

/** Always one line, so that nothing moves when its words change. */
function StatusLine(): JSX.Element {
  const shown = order.value.length;
  const kept = keptBecause.value;
  return (
    <p class="status-line">
      <span>
        {count(shown)} shown, seen from Redis. {surveyWords()}
      </span>
      <span class="kept">
        {kept !== null && `Order kept: ${kept}.`}
        {kept !== null && newcomers.value > 0 && ` ${count(newcomers.value)} new.`}
      </span>
    </p>
  );
}
