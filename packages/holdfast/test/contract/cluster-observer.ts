/** The test's own connection to a whole cluster, as one server: a key is asked of its node, everything else of all. */
import { Cluster, type Redis } from 'ioredis';
import { slotOf } from '../../src/keys/slot.ts';

type Answers = readonly unknown[];

/** How the answers of all nodes become one. */
const JOINED: Readonly<Record<string, (answers: Answers) => unknown>> = {
  keys: (answers) => answers.flat(),
  dbsize: (answers) => answers.reduce<number>((sum, answer) => sum + Number(answer), 0),
  info: (answers) => answers.join('\n'),
  client: (answers) => answers.join('\n'),
  ping: ([answer]) => answer,
  config: ([answer]) => answer,
  script: ([answer]) => answer,
  time: ([answer]) => answer,
  flushall: ([answer]) => answer,
};

export async function clusterObserver(port: number): Promise<Redis> {
  const cluster = new Cluster([{ host: '127.0.0.1', port }], { redisOptions: { disconnectTimeout: 0 } });
  await new Promise((resolve) => cluster.once('ready', resolve));
  const nodes = (): Redis[] => cluster.nodes('master');
  const ask = (member: string, args: unknown[]): Promise<Answers> =>
    Promise.all(nodes().map((node) => node.call(member, ...(args as string[]))));
  const own: Readonly<Record<string, (...args: unknown[]) => unknown>> = {
    // Our waiters listen to the channels of the shards here, so that is where they are counted, heard and spoken to.
    pubsub: async (verb: unknown, ...args: unknown[]) => {
      const answers = await ask('pubsub', [verb === 'NUMSUB' ? 'SHARDNUMSUB' : 'SHARDCHANNELS', ...args]);
      if (verb !== 'NUMSUB') return answers.flat();
      const counts = answers.map((answer) => Number((answer as unknown[])[1]));
      return [args[0], counts.reduce((sum, count) => sum + count, 0)];
    },
    publish: (channel: unknown, text: unknown) =>
      shardOf(cluster, String(channel)).call('SPUBLISH', String(channel), String(text)),
    multi: () => {
      const multi = cluster.multi();
      return Object.assign(multi, {
        publish: (channel: string, text: string) => multi.call('SPUBLISH', channel, text),
      });
    },
    del: async (...keys: unknown[]) => {
      const counts = await Promise.all(keys.map((key) => cluster.del(String(key))));
      return counts.reduce((sum, count) => sum + count, 0);
    },
  };
  return new Proxy(cluster, {
    get(target, member) {
      const name = String(member);
      const joined = JOINED[name];
      if (own[name] !== undefined) return own[name];
      if (joined !== undefined) return async (...args: unknown[]) => joined(await ask(name, args));
      const value: unknown = Reflect.get(target, member);
      return typeof value === 'function' ? value.bind(target) : value;
    },
    // What the rules ask of it is asked of a key, or is in the lists above.
  }) as unknown as Redis;
}

/** The node that has the slot of a channel. */
export function shardOf(cluster: Cluster, channel: string): Redis {
  const [address] = cluster.slots[slotOf(channel)] ?? [];
  const node = cluster.nodes('master').find(({ options }) => `${options.host}:${options.port}` === address);
  if (node === undefined) throw new Error(`no node has the slot of ${channel}`);
  return node;
}
