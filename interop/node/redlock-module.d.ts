/** What we use of a library that has types which its exports do not show. */
declare module 'redlock' {
  import type { EventEmitter } from 'node:events';
  import type { Redis } from 'ioredis';

  class Redlock extends EventEmitter {
    constructor(
      clients: readonly Redis[],
      settings: {
        readonly driftFactor: number;
        readonly retryCount: number;
        readonly retryDelay: number;
        readonly retryJitter: number;
        readonly automaticExtensionThreshold: number;
      },
    );
    acquire(resources: string[], durationMs: number): Promise<{ release(): Promise<unknown> }>;
  }

  // biome-ignore lint/style/noDefaultExport: it is how the package exports it.
  export { Redlock as default };
}
