/** INFO, with the fields that clients and health checks read. */
import { Buffer } from 'node:buffer';
import type { NodeState } from '../../state/node-state.ts';
import type { Command, CommandContext } from '../command.ts';
import { ANY, reads } from '../command.ts';

/** The version of Redis that the node behaves like. Conformance is tested against a server of that line. */
export const VERSION = '7.0.15';

type Facts = readonly (readonly [name: string, value: string | number])[];

function server(node: NodeState): Facts {
  const uptimeS = Math.floor(node.uptimeMs / 1000);
  return [
    ['redis_version', VERSION],
    ['redis_mode', 'standalone'],
    ['holdfast_embedded_node', 1],
    ['arch_bits', 64],
    ['run_id', node.runId],
    ['tcp_port', 0],
    ['server_time_usec', node.nowUs],
    ['uptime_in_seconds', uptimeS],
    ['uptime_in_days', Math.floor(uptimeS / 86_400)],
  ];
}

function clients(node: NodeState): Facts {
  const listening = [...node.connections].filter((connection) => connection.isSubscriber).length;
  return [
    ['connected_clients', node.connections.size],
    ['maxclients', 10_000],
    ['blocked_clients', 0],
    ['pubsub_clients', listening],
  ];
}

/** Counts the bytes of keys and values, without the overhead that a real server adds to each. */
function memory(node: NodeState): Facts {
  let bytes = 0;
  for (const keys of node.databases) {
    for (const [key, { value }] of keys.entries())
      bytes += Buffer.byteLength(key + JSON.stringify(value), 'latin1');
  }
  return [
    ['used_memory', bytes],
    ['maxmemory', node.settings.get('maxmemory') ?? '0'],
    ['maxmemory_policy', node.settings.get('maxmemory-policy') ?? 'noeviction'],
  ];
}

const persistence = (): Facts => [
  ['loading', 0],
  ['rdb_changes_since_last_save', 0],
  ['rdb_bgsave_in_progress', 0],
  ['rdb_last_bgsave_status', 'ok'],
  ['aof_enabled', 0],
  ['aof_last_write_status', 'ok'],
];

const replication = (node: NodeState): Facts => [
  ['role', 'master'],
  ['connected_slaves', 0],
  ['master_failover_state', 'no-failover'],
  ['master_replid', node.runId],
  ['master_repl_offset', 0],
];

const cluster = (): Facts => [['cluster_enabled', 0]];

function keyspace(node: NodeState): Facts {
  return node.databases.flatMap((keys, index) => {
    const entries = [...keys.entries()].map(([, entry]) => entry);
    if (entries.length === 0) return [];
    const expires = entries.filter(({ expiresAtMs }) => expiresAtMs !== null).length;
    return [[`db${index}`, `keys=${entries.length},expires=${expires},avg_ttl=0`] as const];
  });
}

function commandstats(node: NodeState): Facts {
  return [...node.commandCounts].map(([name, calls]) => [`cmdstat_${name}`, `calls=${calls}`] as const);
}

const SECTIONS: readonly (readonly [title: string, facts: (node: NodeState) => Facts])[] = [
  ['Server', server],
  ['Clients', clients],
  ['Memory', memory],
  ['Persistence', persistence],
  ['Replication', replication],
  ['Commandstats', commandstats],
  ['Cluster', cluster],
  ['Keyspace', keyspace],
];

const EVERYTHING = ['all', 'everything'];

function inform({ node }: CommandContext, args: readonly string[]): string {
  const wanted = new Set(args.length > 0 ? args.map((arg) => arg.toLowerCase()) : ['default']);
  const wantsAll = EVERYTHING.some((word) => wanted.has(word));
  const chosen = SECTIONS.filter(([title]) => {
    if (wantsAll || wanted.has(title.toLowerCase())) return true;
    return wanted.has('default') && title !== 'Commandstats';
  });
  const texts = chosen.map(
    ([title, facts]) =>
      `# ${title}\r\n${facts(node)
        .map(([name, value]) => `${name}:${value}\r\n`)
        .join('')}`,
  );
  return texts.join('\r\n');
}

export const INFORMATION_COMMANDS: readonly Command[] = [reads('info', 0, ANY, inform)];
