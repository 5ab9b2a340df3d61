/** Acknowledges an alert (repeats stop) or silences it (nothing is sent). Both end by themselves. */
import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { AlertMatch, AlertView, SilenceRequest } from '../../src/api/types.ts';
import { monitorTime } from '../data/clock.ts';
import { type ApiError, asApiError, post } from '../data/http.ts';
import { notice, picture } from '../data/store.ts';
import { clock, visible } from '../data/words.ts';
import { Dialog, Field } from './dialog.tsx';
import { ErrorWords } from './states.tsx';

export type QuietKind = 'ack' | 'silence';

const HOUR_MS = 3_600_000;
const SPANS: readonly (readonly [hours: number, words: string])[] = [
  [1, '1 hour'],
  [4, '4 hours'],
  [12, '12 hours'],
  [24, '1 day'],
  [168, '1 week'],
];

interface QuietProps {
  readonly kind: QuietKind;
  readonly alert: AlertView;
  readonly onClose: () => void;
}

export function Quiet({ kind, alert, onClose }: QuietProps): JSX.Element {
  const reason = useSignal('');
  const hours = useSignal(4);
  const isWide = useSignal(false);
  const error = useSignal<ApiError | null>(null);
  const isBusy = useSignal(false);
  const isSilence = kind === 'silence';

  async function send(event: Event): Promise<void> {
    event.preventDefault();
    isBusy.value = true;
    try {
      const match: AlertMatch = isWide.value ? { rule: alert.rule } : { fingerprint: alert.fingerprint };
      const until = monitorTime() + hours.value * HOUR_MS;
      const request: SilenceRequest = { match, until, reason: reason.value.trim() };
      await post(`api/v1/${kind}`, request, picture.value?.viewer.csrf ?? '');
      notice.value = `${alert.rule} is ${isSilence ? 'silenced' : 'acknowledged'} until ${clock(until)}.`;
      onClose();
    } catch (thrown) {
      error.value = asApiError(thrown);
    } finally {
      isBusy.value = false;
    }
  }

  return (
    <Dialog title={`${isSilence ? 'Silence' : 'Acknowledge'} ${alert.rule}`} onClose={onClose}>
      <p>
        {isSilence
          ? 'Nothing is sent for it until then. It is judged and kept in the history all the same.'
          : 'It is not repeated until then: somebody has taken it on. Its end is still sent.'}
      </p>
      <form onSubmit={(event) => void send(event)}>
        {isSilence && (
          <fieldset>
            <legend>What</legend>
            <label>
              <input
                type="radio"
                name="what"
                checked={!isWide.value}
                onChange={() => {
                  isWide.value = false;
                }}
              />{' '}
              only {visible(alert.subject)}
            </label>
            <label>
              <input
                type="radio"
                name="what"
                checked={isWide.value}
                onChange={() => {
                  isWide.value = true;
                }}
              />{' '}
              every {alert.rule}
            </label>
          </fieldset>
        )}
        <Field label="For how long?">
          {(id) => (
            <select
              id={id}
              value={String(hours.value)}
              onChange={(event) => {
                hours.value = Number(event.currentTarget.value);
              }}
            >
              {SPANS.map(([length, words]) => (
                <option key={length} value={String(length)}>
                  {words}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Why? It is written to the audit trail.">
          {(id) => (
            <textarea
              id={id}
              rows={2}
              maxLength={500}
              required
              value={reason.value}
              onInput={(event) => {
                reason.value = event.currentTarget.value;
              }}
            />
          )}
        </Field>
        {error.value !== null && <ErrorWords error={error.value} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={reason.value.trim() === '' || isBusy.value}>
            {isSilence ? 'Silence' : 'Acknowledge'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
