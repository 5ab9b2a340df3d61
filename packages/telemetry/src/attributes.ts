/** The names of attributes in OpenTelemetry. */
import type { Label } from './instruments.ts';

export const ATTRIBUTES: Readonly<Record<Label, string>> = {
  kind: 'holdfast.lock.kind',
  group: 'holdfast.lock.group',
  outcome: 'holdfast.lock.outcome',
  via: 'holdfast.lock.via',
  end: 'holdfast.lock.end',
  scope: 'holdfast.lock.scope',
  reason: 'holdfast.lock.reason',
  error_type: 'error.type',
};

/** On spans only, and only if the caller wants it. */
export const LOCK_NAME = 'holdfast.lock.name';
