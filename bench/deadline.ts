/** Every cell of the benchmark ends: what takes longer than its bound counts as stuck. */
export class StuckError extends Error {
  constructor(limitMs: number) {
    super(`no answer within ${limitMs / 1000} s`);
    this.name = 'StuckError';
  }
}

export async function within<Value>(limitMs: number, work: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const bound = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StuckError(limitMs)), limitMs);
  });
  // Work that fails after its bound has nobody left to tell.
  work.catch(() => {});
  try {
    return await Promise.race([work, bound]);
  } finally {
    clearTimeout(timer);
  }
}
