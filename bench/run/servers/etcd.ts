/** One etcd member for one run, with its default settings: it syncs every change to disk before it answers. */
import { spawnSync } from 'node:child_process';
import { freePort, type RunningServer, startChildServer } from './child-server.ts';
import { temporaryFolder } from './temporary-folder.ts';

const START_MS_MAX = 15_000;

export function etcdVersion(): string | null {
  const { stdout } = spawnSync('etcd', ['--version'], { encoding: 'utf8' });
  return /etcd Version: (\S+)/.exec(stdout ?? '')?.[1] ?? null;
}

export async function startEtcd(): Promise<RunningServer> {
  const [port, peerPort] = [await freePort(), await freePort()];
  const [clients, peers] = [port, peerPort].map((each) => `http://127.0.0.1:${each}`);
  const folder = await temporaryFolder('etcd');
  const server = await startChildServer({
    program: 'etcd',
    args: [
      `--name=bench`,
      `--data-dir=${folder.path}/data`,
      `--listen-client-urls=${clients}`,
      `--advertise-client-urls=${clients}`,
      `--listen-peer-urls=${peers}`,
      `--initial-advertise-peer-urls=${peers}`,
      `--initial-cluster=bench=${peers}`,
    ],
    port,
    startMsMax: START_MS_MAX,
  });
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}
