/**
 * The lock service of etcd, by its own recipe: each waiter has a key with a lease below the lock's name, waits until
 * the key before its own is gone, and deletes its own to release. Called through the JSON gateway of the
 * server, which needs no client library.
 */
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { LEASE_MS, type OpenParticipant, type Participant } from '../participant.ts';
import { LocalQueue } from '../yardsticks/local-queue.ts';

type Body = Readonly<Record<string, string | number>>;

class Gateway {
  readonly #agent = new Agent({ keepAlive: true, noDelay: true });
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  post(path: string, body: Body): Promise<Body> {
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.#port, path, method: 'POST', agent: this.#agent };
      const sent = request(options, (response) => {
        text(response).then((answer) => {
          if (response.statusCode === 200) resolve(JSON.parse(answer) as Body);
          else reject(new Error(`etcd answered ${response.statusCode}: ${answer}`));
        }, reject);
      });
      sent.on('error', reject);
      sent.end(JSON.stringify(body));
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

async function open(port: number): Promise<OpenParticipant> {
  const gateway = new Gateway(port);
  const { ID: lease = '' } = await gateway.post('/v3/lease/grant', { TTL: LEASE_MS / 1000 });
  // A lease is one owner to etcd, so the callers of one process queue for it.
  const queue = new LocalQueue();
  return {
    async take(key) {
      const endTurn = await queue.turn();
      const name = Buffer.from(key).toString('base64');
      const { key: held = '' } = await gateway.post('/v3/lock/lock', { name, lease });
      return async () => {
        await gateway.post('/v3/lock/unlock', { key: held });
        endTurn();
      };
    },
    async close() {
      await gateway.post('/v3/lease/revoke', { ID: lease });
      gateway.close();
    },
  };
}

export const etcd: Participant = {
  id: 'etcd',
  name: 'etcd lock service',
  settings: 'one member, JSON gateway',
  role: 'peer',
  server: 'etcd',
  client: 'node:http',
  isTuned: false,
  canRenew: false,
  sends: {},
  open,
};
