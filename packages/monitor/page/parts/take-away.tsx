/**
 * Takes a lock away from its owner. The reader sees whom it is taken from, says why, and types the name. If the owner
 * changed meanwhile, nothing is done: the new owner is shown, and the reader decides anew.
 */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { ReleaseRequest, Row } from '../../src/api/types.ts';
import { now } from '../data/clock.ts';
import { type ApiError, asApiError, post } from '../data/http.ts';
import { notice, picture } from '../data/store.ts';
import { ownerWords, seconds, visible } from '../data/words.ts';
import { Dialog, Field } from './dialog.tsx';
import { ErrorWords } from './states.tsx';

const REASON_MAX = 500;

interface TakeAwayProps {
  readonly row: Row;
  readonly onClose: () => void;
}

export function TakeAway({ row: first, onClose }: TakeAwayProps): JSX.Element {
  const row = useSignal(first);
  const reason = useSignal('');
  const typed = useSignal('');
  const error = useSignal<ApiError | null>(null);
  const isBusy = useSignal(false);
  const { name, holder, fence } = row.value;
  const isReady = reason.value.trim() !== '' && typed.value === visible(name) && !isBusy.value;

  async function send(event: Event): Promise<void> {
    event.preventDefault();
    if (!isReady) return;
    isBusy.value = true;
    try {
      const request: ReleaseRequest = { name, holder, fence, reason: reason.value.trim() };
      await post('api/v1/release', request, picture.value?.viewer.csrf ?? '');
      notice.value = `${visible(name)} was taken away from ${ownerWords(row.value)}.`;
      onClose();
    } catch (thrown) {
      error.value = asApiError(thrown);
      if (error.value.now !== null) {
        row.value = error.value.now;
        typed.value = '';
      }
    } finally {
      isBusy.value = false;
    }
  }

  return (
    <Dialog title={`Take away ${visible(name)}`} onClose={onClose}>
      {error.value?.code === 'changed' && (
        <p class="callout" role="alert">
          <strong>The owner changed while you were here.</strong> Nothing was done. The owner below is the new
          one: take the lock from it only if you mean it, and type the name again.
        </p>
      )}
      <OwnerFacts row={row.value} />
      <p>
        The owner may still be at work. Until it learns that the lock is gone,{' '}
        <strong>two may be at work at once</strong>. An owner that listens is told at once, any other at its
        next renewal, and both with your reason.
      </p>
      <form onSubmit={(event) => void send(event)}>
        <Field label="Why? It is written to the audit trail, and told to the owner.">
          {(id) => (
            <textarea
              id={id}
              rows={2}
              maxLength={REASON_MAX}
              required
              value={reason.value}
              onInput={(event) => {
                reason.value = event.currentTarget.value;
              }}
            />
          )}
        </Field>
        <Field
          label={
            <>
              Type the name <code>{visible(name)}</code>
            </>
          }
        >
          {(id) => (
            <input
              id={id}
              autocomplete="off"
              autocapitalize="off"
              spellcheck={false}
              value={typed.value}
              onInput={(event) => {
                typed.value = event.currentTarget.value;
              }}
            />
          )}
        </Field>
        {error.value !== null && error.value.code !== 'changed' && <ErrorWords error={error.value} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Leave it
          </button>
          <button type="submit" class="danger" disabled={!isReady}>
            {isBusy.value ? 'Taking away…' : 'Take away'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function OwnerFacts({ row }: { readonly row: Row }): JSX.Element {
  return (
    <dl class="facts" aria-label="Whom it is taken from">
      <dt>owner</dt>
      <dd class="owner-now">{ownerWords(row)}</dd>
      <dt>holder id</dt>
      <dd class="mono">{visible(row.holder)}</dd>
      <dt>held</dt>
      <dd>
        {row.grantedAt === null
          ? 'not known'
          : `${row.exact ? '' : 'at least '}${seconds(now.value - row.grantedAt)}`}
      </dd>
      {row.fence !== null && (
        <>
          <dt>fence</dt>
          <dd class="mono">{row.fence}</dd>
        </>
      )}
    </dl>
  );
}
