import { ask } from './raw-redis.ts';

/** The lines of CLIENT LIST about connections that sessions have made. */
export async function ourConnections(port: number): Promise<string[]> {
  const list = String(await ask(port, ['CLIENT', 'LIST']));
  return list.split('\n').filter((line) => line.includes(' name=holdfast '));
}
