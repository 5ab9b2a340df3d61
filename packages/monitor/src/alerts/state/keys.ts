/** The keys of the state of the alerts. The fleet is the hash tag, so that all are in one slot. */

/** What stands under each key, in the order in which scripts are given them. */
export interface StateKeys {
  /** Hash: `fence`, `revision`, `token`, `incidents`. */
  readonly meta: string;
  /** Hash: fingerprint to alert. */
  readonly alerts: string;
  /** Hash: id to the message of a delivery. */
  readonly delivery: string;
  /** Hash: id to `<tries> <next try> <last try> <error>`. */
  readonly tries: string;
  /** Hash: receiver to how its last message fared. */
  readonly receivers: string;
  /** Hash: id to silence or acknowledgement. */
  readonly silences: string;
  /** Stream of what has been. */
  readonly history: string;
  /** Hash: fingerprint to what was said while the state was away. */
  readonly outage: string;
  /** List of the ids of deliveries, the next first. */
  outbox(receiver: string): string;
  /** The name of the lock of the leader. */
  readonly leader: string;
}

export function stateKeys(fleet: string): StateKeys {
  const of = (what: string): string => `holdfast_monitor:{${fleet}}:${what}`;
  return {
    meta: of('meta'),
    alerts: of('alerts'),
    delivery: of('delivery'),
    tries: of('tries'),
    receivers: of('receivers'),
    silences: of('silences'),
    history: of('history'),
    outage: of('outage'),
    outbox: (receiver) => of(`outbox:${receiver}`),
    leader: of('leader'),
  };
}
