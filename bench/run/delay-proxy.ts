/** A TCP proxy that passes every byte on later, in both directions: a process behind it is far away from its server. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface DelayProxy extends AsyncDisposable {
  readonly port: number;
}

/** Timers of the same delay fire in the order in which they were set, so chunks do not overtake each other. */
function passOn(from: Socket, to: Socket, delayMs: number): void {
  from.on('data', (chunk) => {
    setTimeout(() => {
      if (to.writable) to.write(chunk);
    }, delayMs);
  });
  // Nothing after a failure but the end, which comes as 'close'.
  from.on('error', () => {});
  from.on('close', () => setTimeout(() => to.destroy(), delayMs));
}

/** `delayMs` is the delay of one direction, half of what a round trip takes longer. */
export async function startDelayProxy(serverPort: number, delayMs: number): Promise<DelayProxy> {
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = connect(serverPort, '127.0.0.1');
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    }
    passOn(near, far, delayMs);
    passOn(far, near, delayMs);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('expected a port');
  return {
    port: address.port,
    async [Symbol.asyncDispose]() {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
