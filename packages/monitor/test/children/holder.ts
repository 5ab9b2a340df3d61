/** Holds one lock and renews it until its process ends. Arguments: port, name, lease in ms. */
import { Redis } from 'ioredis';
import { Locks } from '../../../holdfast/src/index.ts';

const [port, name = '', leaseMs] = process.argv.slice(2);
const locks = new Locks(new Redis(Number(port), '127.0.0.1', { lazyConnect: true }), {
  application: 'holder',
  callTimeoutMs: 20_000,
});
await locks.lock(name).acquire({ leaseMs: Number(leaseMs) });
console.log(JSON.stringify({ session: locks.session }));
setInterval(() => {}, 1_000);
