import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import type { AlertView, DeliveryView } from '../../src/api/types.ts';
import { now } from '../data/clock.ts';
import { lockLink, pageLink } from '../data/route.ts';
import { picture } from '../data/store.ts';
import { clock, moment, seconds, visible } from '../data/words.ts';
import { LevelMark } from '../parts/marks.tsx';
import { Quiet, type QuietKind } from '../parts/quiet.tsx';

/** One alert that is pending, firing or just resolved. */
export function AlertCard({ alert }: { readonly alert: AlertView }): JSX.Element {
  const open = useSignal<QuietKind | null>(null);
  const { state, since, resolvedAt } = alert;
  return (
    <section
      class={`card alert ${state} level-${alert.level}`}
      aria-label={`${alert.rule} ${alert.subject}`}
      tabIndex={-1}
      data-item
    >
      <h2>
        <LevelMark level={alert.level} /> {alert.rule} <Subject alert={alert} />
        <small>
          {state}, since {moment(since, now.value)}, {seconds((resolvedAt ?? now.value) - since)}
        </small>
      </h2>
      <p class="summary">{visible(alert.summary)}</p>
      <p>
        <b>Why it matters:</b> {visible(alert.why)}
      </p>
      <p>
        <b>What to do:</b> {visible(alert.todo)}
      </p>
      <p class="quiet">{told(alert)}</p>
      {state === 'firing' && picture.value?.viewer.mayAct === true && (
        <div class="buttons start">
          <button
            type="button"
            onClick={() => {
              open.value = 'ack';
            }}
          >
            Acknowledge…
          </button>
          <button
            type="button"
            onClick={() => {
              open.value = 'silence';
            }}
          >
            Silence…
          </button>
        </div>
      )}
      {open.value !== null && (
        <Quiet
          kind={open.value}
          alert={alert}
          onClose={() => {
            open.value = null;
          }}
        />
      )}
    </section>
  );
}

function Subject({ alert }: { readonly alert: AlertView }): JSX.Element {
  const words = visible(alert.subject);
  if (alert.subjectKind === 'lock') return <a href={lockLink(alert.subject)}>{words}</a>;
  if (alert.subjectKind === 'server') return <a href={pageLink('servers')}>{words}</a>;
  return <span>{words}</span>;
}

function deliveryWords({ receiver, state, tries, at, nextAt, error }: DeliveryView): string {
  const name = visible(receiver);
  if (state === 'sent') return `${name} sent${at === null ? '' : ` ${clock(at)}`}`;
  if (state === 'queued') return `${name} queued`;
  if (state === 'silenced') return `${name} silenced`;
  const why = error === null ? '' : ` (${visible(error)})`;
  if (state === 'dead') return `${name} given up after ${tries}×${why}`;
  return `${name} refused ${tries}×${why}${nextAt === null ? '' : `, next ${clock(nextAt)}`}`;
}

/** Who was told, who has taken it on, and what keeps it quiet. */
function told({ deliveries, ack, silence, inhibitedBy, state }: AlertView): string {
  const parts = deliveries.map(deliveryWords);
  if (deliveries.length === 0 && state === 'firing') parts.push('Sent to nobody: no receiver takes it');
  if (ack !== null)
    parts.push(`acknowledged by ${visible(ack.by)} until ${clock(ack.until)}: ${visible(ack.reason)}`);
  if (silence !== null)
    parts.push(
      `silenced by ${visible(silence.by)} until ${clock(silence.until)}: ${visible(silence.reason)}`,
    );
  if (inhibitedBy !== null) parts.push(`not sent while ${visible(inhibitedBy)} fires`);
  return parts.join('; ');
}
