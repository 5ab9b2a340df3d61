/** A notice in words, for people. Subjects are names that anybody may have chosen, so each is made safe to show. */
import { printable } from 'holdfast';
import { formatDuration } from '../config/units.ts';
import type { Notice, NoticeAlert } from '../machine/notice.ts';

const SUBJECT_LENGTH_MAX = 200;
const SUMMARY_LENGTH_MAX = 400;

export interface NoticeText {
  /** `[critical] shop: a server cannot be reached: redis-2:6379`. */
  readonly headline: string;
  /** One line for each alert, then why and what to do. */
  readonly lines: readonly string[];
}

export function textOf(notice: Notice): NoticeText {
  const { alerts, total, kind, level, fleet, title } = notice;
  const [first] = alerts;
  const subject = first === undefined ? '' : printable(first.subject, SUBJECT_LENGTH_MAX);
  const about = total === 1 ? subject : `${subject} and ${total - 1} more`;
  const mark = kind === 'resolved' ? `resolved, was ${level}` : kind === 'repeat' ? `still ${level}` : level;
  const lines = alerts.map(lineOf);
  if (total > alerts.length) lines.push(`… and ${total - alerts.length} more`);
  return {
    headline: `[${mark}] ${fleet}: ${title}: ${about}`,
    lines: [...lines, ...endingOf(notice)],
  };
}

function lineOf(alert: NoticeAlert): string {
  const subject = printable(alert.subject, SUBJECT_LENGTH_MAX);
  const summary = printable(alert.summary, SUMMARY_LENGTH_MAX);
  const from = timeOf(alert.firedAt ?? alert.since);
  if (alert.state === 'firing') return `${subject}: ${summary} (since ${from})`;
  const lasted = formatDuration(
    Math.max(0, (alert.resolvedAt ?? alert.since) - (alert.firedAt ?? alert.since)),
  );
  return `${subject}: ended ${timeOf(alert.resolvedAt ?? alert.since)}, fired ${from}, lasted ${lasted}`;
}

function endingOf({ kind, why, todo, voice, saysBoth }: Notice): string[] {
  const ending = kind === 'resolved' ? [] : [`Why: ${why}`, `Do: ${todo}`];
  if (saysBoth) ending.push('The message that it fired could not be delivered before it ended.');
  if (voice === 'last-leader')
    ending.push('The state of the alerts cannot be reached: this monitor speaks for itself.');
  if (voice === 'second-voice')
    ending.push(
      'The state of the alerts cannot be reached: second voice, another monitor may have said the same.',
    );
  return ending;
}

function timeOf(ms: number): string {
  return new Date(ms)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z');
}
