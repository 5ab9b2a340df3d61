/** A Redis node and processes that share it, on a clock that the test moves. */
import { EmbeddedNode, ManualClock } from 'holdfast-testing';
import { afterEach, beforeAll } from 'vitest';
import {
  CallFailure,
  CLIENT,
  type Client,
  Locks,
  type LocksOptions,
  type ScriptCall,
} from '../../../src/index.ts';

export const LEASE_MS = 30_000;

/** What happens to the calls of one script: the reply is lost, or the request is, or it comes when `deliver` is called. */
type Fault = 'reply lost' | 'request lost' | 'request late';

export class Scene {
  readonly clock: ManualClock = new ManualClock();
  readonly node: EmbeddedNode = new EmbeddedNode({ clock: this.clock });
  readonly #all: Locks[] = [];

  /** A process of its own. `clock`: its own time, for one that is frozen while the others go on. */
  process(options: LocksOptions = {}): Locks {
    const locks = new Locks(this.node.client(), { application: false, clock: this.clock, ...options });
    this.#all.push(locks);
    return locks;
  }

  /** The same with calls that the test can lose and count. */
  watchedProcess(options: LocksOptions = {}): { readonly locks: Locks; readonly calls: Calls } {
    const calls = new Calls();
    const locks = new Locks(calls.watch(this.node.client()), {
      application: false,
      clock: this.clock,
      ...options,
    });
    this.#all.push(locks);
    return { locks, calls };
  }

  async end(): Promise<void> {
    for (const locks of this.#all.splice(0)) await locks.destroy();
    await this.node.close();
  }
}

export class Calls {
  /** The names of the scripts that were run, oldest first. */
  readonly made: string[] = [];
  readonly #faults = new Map<string, Fault[]>();
  readonly #late: (() => Promise<unknown>)[] = [];
  readonly #after = new Map<string, () => unknown>();

  /** The next calls of that script go wrong so, one after the other. */
  lose(script: string, ...faults: Fault[]): void {
    this.#faults.set(script, faults);
  }

  /** Called with each answer of that script, just before the caller has it. */
  after(script: string, run: () => unknown): void {
    this.#after.set(script, run);
  }

  /** The server runs what was late, and nobody hears the answers. */
  async deliver(): Promise<void> {
    for (const run of this.#late.splice(0)) await run();
  }

  watch(inner: Client): Client {
    const run = async (call: ScriptCall, timeoutMs: number) => {
      const { name } = call.script;
      this.made.push(name);
      const fault = this.#faults.get(name)?.shift();
      if (fault === undefined) {
        const answer = await inner.run(call, timeoutMs);
        void this.#after.get(name)?.();
        return answer;
      }
      if (fault === 'request late') this.#late.push(() => inner.run(call, timeoutMs));
      if (fault === 'reply lost') await inner.run(call, timeoutMs);
      return new CallFailure('unknown', fault);
    };
    return {
      [CLIENT]: true,
      description: inner.description,
      keyPrefix: inner.keyPrefix,
      get isConnected() {
        return inner.isConnected;
      },
      get connections() {
        return inner.connections;
      },
      run,
      listen: (channel, wake, timeoutMs) => inner.listen(channel, wake, timeoutMs),
      close: () => inner.close(),
    };
  }
}

/** One scene for each test of a file. */
export function useScene(): () => Scene {
  let scene: Scene | null = null;
  // The first script of a process waits for the Lua engine, which no manual clock waits for.
  beforeAll(async () => {
    const first = new Scene();
    await first.node.command('PING');
    await first.end();
  });
  afterEach(async () => {
    await scene?.end();
    scene = null;
  });
  return () => {
    scene ??= new Scene();
    return scene;
  };
}
