/** What a lock protects, made as it should be: it remembers the largest fence and refuses what comes with less. */
import { ask } from '../../support/servers/raw-redis.ts';

const WRITE = `
local largest = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0')
if tonumber(ARGV[1]) < largest then return 0 end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'value', ARGV[2])
return 1
`;

export class FencedResource {
  readonly #port: number;
  readonly #key: string;

  constructor(port: number, key: string) {
    this.#port = port;
    this.#key = key;
  }

  /** Whether it took the value. */
  async write(fence: number, value: string): Promise<boolean> {
    return (await ask(this.#port, ['EVAL', WRITE, '1', this.#key, `${fence}`, value])) === 1;
  }

  async read(): Promise<string> {
    return String(await ask(this.#port, ['HGET', this.#key, 'value']));
  }

  async remove(): Promise<void> {
    await ask(this.#port, ['DEL', this.#key]);
  }
}
