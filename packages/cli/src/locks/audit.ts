/** The audit trail over the servers of the command line. */
import type { AuditRedis, AuditTrail } from 'holdfast-monitor';
import type { Servers } from '../servers/connection.ts';

/** In a cluster by the cluster's client, which knows where the stream is; in a quorum on every server. */
export async function openTrail({ clients, cluster }: Servers): Promise<AuditTrail> {
  const { AuditTrail: Trail } = await import('holdfast-monitor');
  return new Trail((cluster === null ? clients : [cluster.client]) as readonly AuditRedis[]);
}
