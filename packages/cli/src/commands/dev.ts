/** `holdfast dev`: a Redis for local work that needs no installation and keeps nothing. */
import { EXIT } from '../exit-codes.ts';
import { Failure } from '../failure.ts';
import { printJson, printLines } from '../output.ts';

export interface DevFlags {
  readonly port: number;
  readonly json?: boolean;
}

export async function dev({ port, json }: DevFlags): Promise<number> {
  const { EmbeddedNode } = await import('holdfast-testing');
  const node = new EmbeddedNode();
  const { url } = await node.listen({ port }).catch((error: unknown) => {
    throw new Failure('unreachable', explain(error, port), error);
  });
  if (json) printJson({ url });
  else printLines([`a Redis for local work: ${url}`, 'it keeps nothing; Ctrl-C ends it']);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
  await node.close();
  return EXIT.ok;
}

function explain(error: unknown, port: number): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') return `port ${port} is taken: choose another with --port, or 0 for any`;
  if (code === 'EACCES') return `port ${port} may not be used by this user`;
  return `port ${port}: ${String(error)}`;
}
