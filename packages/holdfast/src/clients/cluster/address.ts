/** Where a node of a cluster is, as the cluster tells it. */

export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** One text for one address: `127.0.0.1:7000`, and `::1:7000` as the servers write it. */
export function addressKey({ host, port }: NodeAddress): string {
  return `${host}:${port}`;
}

/**
 * Reads `host:port`; the host may have colons of its own. Without a host, the host is that of the speaker: a server that
 * does not know its own name leaves it out. Null when the text is no address.
 */
export function readAddress(text: string, speaker: NodeAddress): NodeAddress | null {
  const colon = text.lastIndexOf(':');
  const port = Number(text.slice(colon + 1));
  const host = text.slice(0, Math.max(0, colon));
  if (colon < 0 || !Number.isInteger(port) || port <= 0 || host === '?') return null;
  return { host: host === '' ? speaker.host : host, port };
}
