/** What we use of two peers that come without types, or whose exports do not show them. */
declare module 'redlock-4' {
  import type { EventEmitter } from 'node:events';
  import type { Redis } from 'ioredis';

  export interface Options {
    readonly driftFactor: number;
    readonly retryCount: number;
    readonly retryDelay: number;
    readonly retryJitter: number;
  }

  class Redlock extends EventEmitter {
    constructor(clients: readonly Redis[], options: Options);
    lock(resource: string, ttlMs: number): Promise<{ unlock(): Promise<void> }>;
  }

  // biome-ignore lint/style/noDefaultExport: it is how the package exports it.
  export { Redlock as default };
}

declare module 'redlock-5' {
  import type { EventEmitter } from 'node:events';
  import type { Redis } from 'ioredis';

  export interface Settings {
    readonly driftFactor: number;
    readonly retryCount: number;
    readonly retryDelay: number;
    readonly retryJitter: number;
    readonly automaticExtensionThreshold: number;
  }

  class Redlock extends EventEmitter {
    constructor(clients: readonly Redis[], settings: Settings);
    acquire(resources: string[], durationMs: number): Promise<{ release(): Promise<unknown> }>;
    using<Result>(
      resources: string[],
      durationMs: number,
      routine: (signal: AbortSignal) => Promise<Result>,
    ): Promise<Result>;
  }

  // biome-ignore lint/style/noDefaultExport: it is how the package exports it.
  export { Redlock as default };
}
