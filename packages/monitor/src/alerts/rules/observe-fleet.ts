/** What the rules about the fleet as a whole, and about the monitor itself, see. */
import type { Figures } from '../../figures.ts';
import { formatDuration } from '../config/units.ts';
import type { Judgement, Observation } from './rule.ts';

const SLOTS = 16_384;

/** What the monitor knows of itself. */
export interface OwnCondition {
  /** The oldest message that a receiver has not taken, for each receiver that has one. */
  readonly waiting: readonly {
    readonly receiver: string;
    readonly ageMs: number;
    readonly error: string | null;
  }[];
  /** Why the last configuration was refused; null when it was not. */
  readonly configRefusal: string | null;
  /** Since when this process looks. */
  readonly startedAt: number;
}

export function observeFleet(figures: Figures, own: OwnCondition): Judgement[] {
  return [...observeTopology(figures), ...observeMonitor(figures, own)];
}

/** The judgement of a rule that has the fleet as its only subject; null: not known now. */
function ofFleet(
  figures: Figures,
  rule: string,
  measured: { readonly value: number; readonly words: () => string } | null,
): Judgement {
  const observations: Observation[] =
    measured === null ? [] : [{ ...measured, subject: figures.fleet, server: null }];
  return { rule, observations, isFrozen: () => measured === null };
}

function observeTopology(figures: Figures): Judgement[] {
  const { quorum, slotsOk, sentinels, clockSpreadMs, clockErrorMs, kind } = figures.topology;
  const quorumState = quorum === null ? 0 : quorum.needed - quorum.voters + 1;
  return [
    ofFleet(figures, 'quorum-spare', {
      value: Math.max(0, quorumState),
      words: () => `${quorum?.voters} of ${quorum?.of} servers vote, ${quorum?.needed} must`,
    }),
    ofFleet(
      figures,
      'clocks-apart',
      clockSpreadMs === null
        ? null
        : {
            value: Math.max(0, clockSpreadMs - (clockErrorMs ?? 0)),
            words: () =>
              `${formatDuration(clockSpreadMs)} apart, known to ${formatDuration(clockErrorMs ?? 0)}`,
          },
    ),
    ofFleet(
      figures,
      'slots-unserved',
      slotsOk === null && kind === 'cluster'
        ? null
        : {
            value: slotsOk !== null && slotsOk < SLOTS ? 1 : 0,
            words: () => `${slotsOk} of ${SLOTS} slots are served`,
          },
    ),
    ofFleet(
      figures,
      'sentinels-few',
      sentinels === null && kind === 'sentinel'
        ? null
        : {
            value: sentinels !== null && sentinels.up < sentinels.quorum ? 1 : 0,
            words: () =>
              `${sentinels?.up} of ${sentinels?.known} sentinels are up, ${sentinels?.quorum} must agree`,
          },
    ),
  ];
}

function observeMonitor(figures: Figures, { waiting, configRefusal, startedAt }: OwnCondition): Judgement[] {
  const blindMs = figures.at - (figures.lookedAt ?? startedAt);
  const deliveries: Observation[] = waiting.map(({ receiver, ageMs, error }) => ({
    subject: receiver,
    value: ageMs,
    words: () =>
      `the oldest message to ${receiver} waits for ${formatDuration(Math.round(ageMs / 1_000) * 1_000)}${error === null ? '' : `: ${error}`}`,
    server: null,
  }));
  return [
    ofFleet(figures, 'monitor-blind', {
      value: blindMs,
      words: () => `the last look at all locks was ${formatDuration(blindMs)} ago`,
    }),
    ofFleet(figures, 'config-refused', {
      value: configRefusal === null ? 0 : 1,
      words: () => configRefusal ?? '',
    }),
    { rule: 'delivery-failing', observations: deliveries, isFrozen: () => false },
  ];
}
