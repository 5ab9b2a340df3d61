/** What a program must hear of although it subscribes to no channel: warnings of the process. */
import { detached } from '../runtime/detached.ts';
import { printable, quote } from '../runtime/printable.ts';

/** A program that abandons leases of 100 names has been warned enough. The channel still tells of every lease. */
export const WARNED_MAX = 100;

const warned = new Set<string>();

/** Warns once a name. `what` is the kind and the name. */
export function warnAbandoned(what: string): void {
  if (warned.has(what) || warned.size >= WARNED_MAX) return;
  warned.add(what);
  const message =
    `${what}: its lease was garbage-collected without a release. It is not renewed any more and will be lost. ` +
    'Keep the lease while you work, then release it; or use using()';
  warn(message, 'HOLDFAST_ABANDONED');
}

let isDeafTold = false;

/** Warns once a process that the server does not let it hear of its turns. `what` is the kind and the name. */
export function warnDeaf(what: string, channel: string, reason: string): void {
  if (isDeafTold) return;
  isDeafTold = true;
  const message =
    `${what}: this process may not subscribe to ${quote(channel)} (${printable(reason)}). Nobody can tell it that its turn has come: ` +
    'it waits longer than others; without any right to subscribe, perhaps for ever. ' +
    'Give its Redis user the channels of docs/operate/acl.md';
  warn(message, 'HOLDFAST_DEAF');
}

function warn(message: string, code: string): void {
  // In nobody's async context: a listener of warnings is not part of the call that happens to run us.
  detached(() => process.emitWarning(message, { type: 'HoldfastWarning', code }));
}

/** Warns once a name that the body of a leader has returned. */
export function warnReturned(what: string): void {
  const key = `returned: ${what}`;
  if (warned.has(key) || warned.size >= WARNED_MAX) return;
  warned.add(key);
  const message =
    `${what}: the body has returned, so the leader has stepped down, and campaigns again after a pause. ` +
    "Let the body run until its signal aborts, or choose afterReturn: 'stop'";
  detached(() => process.emitWarning(message, { type: 'HoldfastWarning', code: 'HOLDFAST_LEADER_RETURNED' }));
}
