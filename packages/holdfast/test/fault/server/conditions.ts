/** States of a server in which it refuses to write, each begun and ended from outside. */
import { mkdtempSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { RawConnection } from '../../support/servers/raw-connection.ts';
import { ask, describeReply } from '../../support/servers/raw-redis.ts';
import type { RedisServer } from '../../support/servers/redis-server.ts';
import { RespError } from '../../support/servers/resp.ts';
import { waitFor } from '../../support/wait-for.ts';

/** What a server needs to be started with for all of them. */
export const CONDITION_ARGS: readonly string[] = ['--enable-protected-configs', 'yes'];

export interface Condition {
  /** The first word of its error reply. */
  readonly word: string;
  /** Whether renewals and releases go through all the same. */
  readonly letsGo: boolean;
  begin(server: RedisServer): Promise<void>;
  end(server: RedisServer): Promise<void>;
}

async function tell({ port }: RedisServer, ...args: string[]): Promise<void> {
  const reply = await ask(port, args);
  if (reply instanceof RespError) throw new Error(`${args.join(' ')}: ${describeReply(reply)}`);
}

const OOM: Condition = {
  word: 'OOM',
  letsGo: true,
  begin: (server) => tell(server, 'CONFIG', 'SET', 'maxmemory-policy', 'noeviction', 'maxmemory', '1'),
  end: (server) => tell(server, 'CONFIG', 'SET', 'maxmemory', '0'),
};

/** The last snapshot failed, and the server was told to stop writing then. */
const MISCONF: Condition = {
  word: 'MISCONF',
  letsGo: false,
  begin: async (server) => {
    const dir = mkdtempSync(join(server.dir, 'gone-'));
    await tell(server, 'CONFIG', 'SET', 'dir', dir, 'save', '3600 1000000');
    rmdirSync(dir);
    await tell(server, 'BGSAVE');
    await waitFor(
      async () => {
        const info = String(await ask(server.port, ['INFO', 'persistence']));
        return /rdb_bgsave_in_progress:0/.test(info) && /rdb_last_bgsave_status:err/.test(info);
      },
      { what: 'the snapshot to fail' },
    );
  },
  end: (server) => tell(server, 'CONFIG', 'SET', 'dir', server.dir, 'save', ''),
};

/** A primary that does not exist, so that the data stay as they are. */
const READONLY: Condition = {
  word: 'READONLY',
  letsGo: false,
  begin: (server) => tell(server, 'REPLICAOF', '127.0.0.1', '1'),
  end: (server) => tell(server, 'REPLICAOF', 'NO', 'ONE'),
};

const NOREPLICAS: Condition = {
  word: 'NOREPLICAS',
  letsGo: false,
  begin: (server) => tell(server, 'CONFIG', 'SET', 'min-replicas-to-write', '1'),
  end: (server) => tell(server, 'CONFIG', 'SET', 'min-replicas-to-write', '0'),
};

/** Somebody's script does not end. */
const BUSY: Condition = {
  word: 'BUSY',
  letsGo: false,
  begin: async (server) => {
    await tell(server, 'CONFIG', 'SET', 'busy-reply-threshold', '20');
    const endless = new RawConnection(server.port);
    endless.send(['EVAL', 'while true do end', '0']);
    await waitFor(async () => (await ask(server.port, ['GET', 'x'])) instanceof RespError, { what: 'BUSY' });
    // It closes when the script is killed and answered; a test that takes its time over that is no error of ours.
    void endless
      .heard(1)
      .catch(() => {})
      .finally(() => endless.close());
  },
  end: async (server) => {
    await tell(server, 'SCRIPT', 'KILL');
    await waitFor(async () => (await ask(server.port, ['GET', 'x'])) === null, { what: 'the script to end' });
    await tell(server, 'CONFIG', 'SET', 'busy-reply-threshold', '5000');
  },
};

export const CONDITIONS: readonly Condition[] = [OOM, MISCONF, READONLY, NOREPLICAS, BUSY];
