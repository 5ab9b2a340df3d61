/** Looks for settings of the servers that can break a promise of ours. */
import { printable } from '../runtime/printable.ts';
import { adminHealth } from '../scripts/generated.ts';
import type { AdminServers } from './servers.ts';

/** Something about a server that can break a promise of ours. */
export interface Finding {
  readonly code: 'EVICTION' | 'REPLICA' | 'VERSION';
  readonly message: string;
}

export async function check(servers: AdminServers): Promise<Finding[]> {
  const all = await servers.all();
  const isOne = all.size === 1;
  const answers = await servers.ask(all, () => adminHealth.call(), adminHealth.decode, undefined);
  const findings: Finding[] = [];
  for (const { server, value } of answers) {
    const who = isOne ? 'the server' : server;
    if (value.maxmemory !== '0' && value.policy !== 'noeviction') {
      // Every policy but noeviction may evict a lock, the volatile ones too: a lock is a key with an expiry.
      const whose = isOne ? 'maxmemory-policy' : `the maxmemory-policy of ${server}`;
      const message = `${whose} is ${printable(value.policy)}: under memory pressure the server may evict a lock that is held; expected noeviction`;
      findings.push({ code: 'EVICTION', message });
    }
    if (value.role !== 'master') {
      const message = `${who} is a ${printable(value.role)}: locks are taken on a primary`;
      findings.push({ code: 'REPLICA', message });
    }
    if (Number.parseInt(value.version, 10) < 7) {
      const message = `${who} is ${printable(value.version)}; holdfast needs Redis 7.0`;
      findings.push({ code: 'VERSION', message });
    }
  }
  return findings;
}
