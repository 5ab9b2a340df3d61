/** What clients send while a rule looks on. */
import { type Monitor, monitor } from '../support/servers/commands.ts';
import { type ContractBench, Declined } from './bench.ts';

export class TrafficWatch {
  readonly #monitor: Monitor;
  readonly #observer: string;

  constructor(monitor: Monitor, observer: string) {
    this.#monitor = monitor;
    this.#observer = observer;
  }

  /** The commands so far, in lower case: neither those that scripts called nor the test's own. */
  async sent(): Promise<string[]> {
    const commands = await this.#monitor.commands();
    return commands
      .filter(({ client }) => client !== 'lua' && client !== this.#observer)
      .map(({ args }) => String(args[0]).toLowerCase());
  }

  stop(): void {
    this.#monitor.stop();
  }
}

/** Watches every command of every client meanwhile; the rule must have the server to itself. */
export async function watchTraffic(
  bench: ContractBench,
  work: (watch: TrafficWatch) => Promise<void>,
): Promise<void> {
  if (bench.isCluster) throw new Declined('commands are counted on one server: see the tests of the cluster');
  if (bench.isQuorum) throw new Declined('commands are counted on one server: a quorum sends others');
  if (bench.isReplicated) throw new Declined('sentinels and replicas talk to the server all the time');
  const { address, port } = bench.redis.stream.address() as { address: string; port: number };
  const watch = new TrafficWatch(await monitor(bench.port), `${address}:${port}`);
  try {
    await work(watch);
  } finally {
    watch.stop();
  }
}
