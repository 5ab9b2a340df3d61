/** Addresses of servers, as sentinels tell them. */

/** Where a server listens, as the sentinels say it. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** The address of the primary, as one sentinel told it. */
export interface Answer extends Address {
  /** Grows with every failover: the sentinel with the largest knows best. */
  readonly epoch: number;
  /**
   * The address in the sentinel's state. It is another one than the address that was told while the sentinel leads a
   * failover that is past the point of no return: the primary before.
   */
  readonly from: Address;
}

export function isSame(one: Address, other: Address): boolean {
  return one.host === other.host && one.port === other.port;
}
